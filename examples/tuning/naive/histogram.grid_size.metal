// How often each byte occurs: a grid of any size walks over the bytes.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device atomic_uint *bins, device const uchar *x, constant uint &n, uint i [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    for (uint k = i; k < n; k += threads) {
        uchar value = x[k];
        atomic_fetch_add_explicit(&bins[uint(value)], 1u, memory_order_relaxed);
    }
}

// assay: launch histogram --size N=262144 --grid 16384 --threadgroup 256 --arg bins=zeros:u32:256 --arg x=index:u8:N:256 --arg n=N
