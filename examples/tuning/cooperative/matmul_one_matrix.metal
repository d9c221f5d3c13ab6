// Product of matrices: a simdgroup has one matrix of 8 by 8 results.
#include <metal_stdlib>
using namespace metal;

kernel void matmul_one_matrix(device float *y, device const float *a, device const float *b, constant uint &n,
                              uint2 group [[threadgroup_position_in_grid]]) {
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f), left, right;
    for (uint k = 0; k < n; k += 8) {
        simdgroup_load(left, a + group.y * 8 * n + k, n);
        simdgroup_load(right, b + k * n + group.x * 8, n);
        simdgroup_multiply_accumulate(sum, left, right, sum);
    }
    simdgroup_store(sum, y + group.y * 8 * n + group.x * 8, n);
}

// assay: launch matmul_one_matrix --size N=256 --groups N/8,N/8 --threadgroup 32 --arg y=zeros:f32:N*N --arg a=random:f32:N*N --arg b=random:f32:N*N --arg n=N
