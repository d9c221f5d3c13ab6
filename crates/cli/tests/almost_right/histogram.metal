#include <metal_stdlib>
using namespace metal;
// assay: launch histogram --size N=65536 --size B=64 --grid N --threadgroup 256 --buffer 0=index:u32:N:B --buffer 1=zeros:u32:B --bytes 2=u32:N
kernel void histogram(device const uint *x [[buffer(0)]], device atomic_uint *bins [[buffer(1)]], constant uint &n [[buffer(2)]],
                      uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    atomic_fetch_add_explicit(&bins[x[i]], 1u, memory_order_relaxed);
}
