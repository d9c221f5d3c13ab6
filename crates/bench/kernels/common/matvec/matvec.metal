// Product of a matrix and a vector: a simdgroup per row.
#include <metal_stdlib>
using namespace metal;

kernel void matvec_f32(device const float *a [[buffer(0)]],
                       device const float *x [[buffer(1)]],
                       device float *y [[buffer(2)]],
                       constant uint &cols [[buffer(3)]],
                       uint position [[thread_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
    uint row = position / 32;
    a += row * cols;
    float sum = 0.0f;
    if (cols % 4 == 0) {
        device const float4 *a4 = (device const float4 *)a;
        device const float4 *x4 = (device const float4 *)x;
        for (uint q = lane; q < cols / 4; q += 32) sum += dot(a4[q], x4[q]);
    } else {
        for (uint i = lane; i < cols; i += 32) sum += a[i] * x[i];
    }
    sum = simd_sum(sum);
    if (lane == 0) y[row] = sum;
}
