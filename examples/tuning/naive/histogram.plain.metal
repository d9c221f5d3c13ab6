// How often each byte occurs: an atomic addition a byte.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device atomic_uint *bins, device const uchar *x, constant uint &n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    atomic_fetch_add_explicit(&bins[x[i]], 1u, memory_order_relaxed);
}

// assay: launch histogram --size N=262144 --grid N --threadgroup 256 --arg bins=zeros:u32:256 --arg x=index:u8:N:256 --arg n=N
