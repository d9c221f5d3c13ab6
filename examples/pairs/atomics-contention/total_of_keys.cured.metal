// A sum by an atomic per element. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void total(device atomic_uint *sum, device const uint *x, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
    uint all = simd_sum(x[i]);
    if (lane == 0) atomic_fetch_add_explicit(sum, all, memory_order_relaxed);
}

// assay: launch total --size N=1048576 --grid N --threadgroup 256 --arg sum=zeros:u32:1 --arg x=index:u32:N:16
