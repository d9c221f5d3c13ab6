// A histogram of 16 bins in device memory.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device atomic_uint *bins, device const uchar *x, uint i [[thread_position_in_grid]]) {
    for (uint k = 0; k < 8; k++)
        atomic_fetch_add_explicit(bins + (x[i + k * 131072] >> 4), 1u, memory_order_relaxed); // fault: atomics-contention
}

// assay: launch histogram --size N=131072 --grid N --threadgroup 256 --arg bins=zeros:u32:16 --arg x=index:u8:N*8:256
