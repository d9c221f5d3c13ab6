// How often each byte occurs: eight bytes a thread, side by side.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device atomic_uint *bins, device const uchar *x, constant uint &n, uint i [[thread_position_in_grid]]) {
    uint k = i * 8;
    const uint end = min(k + 8, n);
    while (k < end) {
        uint bin = x[k++];
        atomic_fetch_add_explicit(bins + bin, 1u, memory_order_relaxed);
    }
}

// assay: launch histogram --size N=262144 --grid ceil_div(N,8) --threadgroup 256 --arg bins=zeros:u32:256 --arg x=index:u8:N:256 --arg n=N
