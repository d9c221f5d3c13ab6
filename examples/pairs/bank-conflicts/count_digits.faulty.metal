// Every thread counts digits in 16 counters of its own, side by side.
#include <metal_stdlib>
using namespace metal;

kernel void count_digits(device uint *counts, device const uint *keys, constant uint &each,
                         uint group [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup uint mine[16 * 128];
    for (uint d = 0; d < 16; d++) mine[tid * 16 + d] = 0;
    for (uint k = 0; k < each; k++) {
        uint d = (k * 7u + (keys[group * 128 + tid] >> (k & 15u))) & 15u;
        mine[tid * 16 + d] += 1; // fault: bank-conflicts
    }
    for (uint d = 0; d < 16; d++) counts[(group * 16 + d) * 128 + tid] = mine[tid * 16 + d];
}

// assay: launch count_digits --size G=256 --size E=64 --grid G*128 --threadgroup 128 --arg counts=zeros:u32:G*16*128 --arg keys=index:u32:G*E*128:65536 --arg each=E
