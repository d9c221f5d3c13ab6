// Counters of which each thread has its own, with a barrier in every turn. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void count_own(device uint *counts, device const uint *keys, constant uint &turns,
                      uint group [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup uint mine[8 * 128];
    for (uint d = 0; d < 8; d++) mine[d * 128 + tid] = 0;
    uint key = keys[group * 128 + tid];
    for (uint k = 0; k < turns; k++) {
        key = key * 1664525u + 1013904223u;
        mine[(key >> 29) * 128 + tid] += 1;

    }
    for (uint d = 0; d < 8; d++) counts[(group * 8 + d) * 128 + tid] = mine[d * 128 + tid];
}

// assay: launch count_own --size G=256 --grid G*128 --threadgroup 128 --arg counts=zeros:u32:G*8*128 --arg keys=index:u32:G*128:65536 --arg turns=64
