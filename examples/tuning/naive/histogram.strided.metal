// How often each byte occurs: eight bytes a thread, a grid apart.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device atomic_uint *bins, device const uchar *x, constant uint &n, uint i [[thread_position_in_grid]]) {
    for (uint k = i; k < n; k += 32768) atomic_fetch_add_explicit(&bins[x[k]], 1u, memory_order_relaxed);
}

// assay: launch histogram --size N=262144 --grid 32768 --threadgroup 256 --arg bins=zeros:u32:256 --arg x=index:u8:N:256 --arg n=N
