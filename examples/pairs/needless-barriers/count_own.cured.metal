// Counters of which each thread has its own, with a barrier in every turn. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void count_own(device uint *counts, device const uint *keys, constant uint &turns,
                      uint group [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup uint mine[8 * 512];
    for (uint d = 0; d < 8; d++) mine[d * 512 + tid] = 0;
    uint key = keys[group * 512 + tid];
    for (uint k = 0; k < turns; k++) {
        key = key * 1664525u + 1013904223u;
        mine[(key >> 29) * 512 + tid] += 1;

    }
    for (uint d = 0; d < 8; d++) counts[(group * 8 + d) * 512 + tid] = mine[d * 512 + tid];
}

// assay: launch count_own --size G=64 --grid G*512 --threadgroup 512 --arg counts=zeros:u32:G*8*512 --arg keys=index:u32:G*512:65536 --arg turns=128
