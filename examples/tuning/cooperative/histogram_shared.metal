// How often bytes occur: counters of a threadgroup, cleared and added by its first thread.
#include <metal_stdlib>
using namespace metal;

kernel void histogram_shared(device atomic_uint *bins, device const uchar *x, constant uint &n,
                             uint group [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint own[64];
    if (tid == 0)
        for (uint i = 0; i < 64; i++) atomic_store_explicit(&own[i], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = group * 4096 + tid; k < min((group + 1) * 4096, n); k += 256)
        atomic_fetch_add_explicit(&own[x[k] & 63], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0)
        for (uint i = 0; i < 64; i++)
            atomic_fetch_add_explicit(&bins[i], atomic_load_explicit(&own[i], memory_order_relaxed), memory_order_relaxed);
}

// assay: launch histogram_shared --size N=262144 --groups ceil_div(N,4096) --threadgroup 256 --arg bins=zeros:u32:64 --arg x=index:u8:N:64 --arg n=N
