// Root mean square norm: simdgroups, and a loop over their sums.
#include <metal_stdlib>
using namespace metal;

kernel void rms_norm_simd(device float *y, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float part[8];
    float square = 0;
    for (uint c = tid; c < columns; c += 256) square += x[row * columns + c] * x[row * columns + c];
    square = simd_sum(square);
    if (lane == 0) part[simd] = square;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float all = 0;
    for (uint i = 0; i < 8; i++) all += part[i];
    float scale = rsqrt(all / float(columns) + 1e-5f);
    for (uint c = tid; c < columns; c += 256) y[row * columns + c] = x[row * columns + c] * scale;
}

// assay: launch rms_norm_simd --size R=512 --size C=1024 --groups R --threadgroup 256 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg columns=C
