// Votes for four candidates, counted in device memory.
#include <metal_stdlib>
using namespace metal;

kernel void votes(device atomic_uint *counts, device const uchar *x, uint i [[thread_position_in_grid]]) {
    for (uint k = 0; k < 8; k++)
        atomic_fetch_add_explicit(counts + (x[i + k * 131072] & 3), 1u, memory_order_relaxed); // fault: atomics-contention
}

// assay: launch votes --size N=131072 --grid N --threadgroup 256 --arg counts=zeros:u32:4 --arg x=index:u8:N*8:256
