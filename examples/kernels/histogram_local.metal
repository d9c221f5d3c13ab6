// Counts in threadgroup memory first, one atomic per bin at the end.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void histogram_local(device atomic_uint *h [[buffer(0)]],
                            device const uchar *x [[buffer(1)]],
                            constant uint &n [[buffer(2)]],
                            uint l [[thread_position_in_threadgroup]],
                            uint i0 [[thread_position_in_grid]],
                            uint size [[threads_per_grid]]) {
    threadgroup atomic_uint lh[256];
    atomic_store_explicit(&lh[l], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = i0; i < n; i += size) {
        atomic_fetch_add_explicit(&lh[x[i]], 1u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint count = atomic_load_explicit(&lh[l], memory_order_relaxed);
    atomic_fetch_add_explicit(&h[l], count, memory_order_relaxed);
}
