// How often each byte occurs: every threadgroup counts its bytes for itself first.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device atomic_uint *bins, device const uchar *x, constant uint &n,
                      uint group [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint own[256];
    atomic_store_explicit(&own[tid], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint end = min((group + 1) * 8192, n);
    for (uint k = group * 8192 + tid; k < end; k += 256)
        atomic_fetch_add_explicit(&own[x[k]], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint count = atomic_load_explicit(&own[tid], memory_order_relaxed);
    if (count > 0) atomic_fetch_add_explicit(&bins[tid], count, memory_order_relaxed);
}

// assay: launch histogram --size N=262144 --groups ceil_div(N,8192) --threadgroup 256 --arg bins=zeros:u32:256 --arg x=index:u8:N:256 --arg n=N
