// How often each byte occurs: four bytes a thread in one load, N a multiple of four.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device atomic_uint *bins, device const uchar *x, constant uint &n, uint i [[thread_position_in_grid]]) {
    if (i * 4 >= n) return;
    uchar4 four = ((device const uchar4 *)x)[i];
    atomic_fetch_add_explicit(&bins[four.x], 1u, memory_order_relaxed);
    atomic_fetch_add_explicit(&bins[four.y], 1u, memory_order_relaxed);
    atomic_fetch_add_explicit(&bins[four.z], 1u, memory_order_relaxed);
    atomic_fetch_add_explicit(&bins[four.w], 1u, memory_order_relaxed);
}

// assay: launch histogram --size N=262144 --grid ceil_div(N,4) --threadgroup 256 --arg bins=zeros:u32:256 --arg x=index:u8:N:256 --arg n=N
