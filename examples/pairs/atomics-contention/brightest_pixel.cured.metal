// The brightest pixel by an atomic maximum. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void brightest(device atomic_uint *most, device const float *x, uint i [[thread_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    uint level = uint(clamp(x[i], 0.0f, 1.0f) * 65535.0f);
    level = simd_max(level);
    if (lane == 0) atomic_fetch_max_explicit(most, level, memory_order_relaxed);
}

// assay: launch brightest --size N=1048576 --grid N --threadgroup 256 --arg most=zeros:u32:1 --arg x=random:f32:N
