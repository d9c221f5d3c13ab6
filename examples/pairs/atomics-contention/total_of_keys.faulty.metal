// A sum by an atomic per element.
#include <metal_stdlib>
using namespace metal;

kernel void total(device atomic_uint *sum, device const uint *x, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
    atomic_fetch_add_explicit(sum, x[i], memory_order_relaxed); // fault: atomics-contention
}

// assay: launch total --size N=1048576 --grid N --threadgroup 256 --arg sum=zeros:u32:1 --arg x=index:u32:N:16
