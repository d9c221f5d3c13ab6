// How many numbers are above a half: an atomic addition a thread, in threadgroup memory, then in the device's.
#include <metal_stdlib>
using namespace metal;

kernel void count_above(device atomic_uint *count, device const float *x, constant uint &n,
                        uint i [[thread_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint own;
    if (tid == 0) atomic_store_explicit(&own, 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < n && x[i] > 0.5f) atomic_fetch_add_explicit(&own, 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) atomic_fetch_add_explicit(count, atomic_load_explicit(&own, memory_order_relaxed), memory_order_relaxed);
}

// assay: launch count_above --size N=262144 --grid N --threadgroup 256 --arg count=zeros:u32:1 --arg x=random:f32:N --arg n=N
