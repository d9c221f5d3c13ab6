// Sorts blocks of 256: a barrier after every step.
#include <metal_stdlib>
using namespace metal;

kernel void bitonic_block(device uint *y, device const uint *x, uint i [[thread_position_in_grid]],
                          uint tid [[thread_position_in_threadgroup]]) {
    threadgroup uint key[256];
    key[tid] = x[i] * 2654435761u;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 2; k <= 256; k *= 2) {
        for (uint j = k / 2; j > 0; j /= 2) {
            uint other = tid ^ j;
            if (other > tid && (key[tid] > key[other]) == ((tid & k) == 0)) {
                uint had = key[tid];
                key[tid] = key[other];
                key[other] = had;
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
    y[i] = key[tid];
}

// assay: launch bitonic_block --size N=32768 --grid N --threadgroup 256 --arg y=zeros:u32:N --arg x=index:u32:N:65521
