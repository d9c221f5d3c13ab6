// Softmax of the rows of x: a simdgroup per row, the maximum subtracted first.
#include <metal_stdlib>
using namespace metal;

kernel void softmax_simdgroup(device float *out [[buffer(0)]],
                              device const float *x [[buffer(1)]],
                              constant uint &columns [[buffer(2)]],
                              uint row [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
    device const float *from = x + row * columns;
    device float *to = out + row * columns;
    float most = -INFINITY;
    for (uint i = lane; i < columns; i += 32) most = max(most, from[i]);
    most = simd_max(most);
    float sum = 0;
    for (uint i = lane; i < columns; i += 32) sum += exp(from[i] - most);
    sum = simd_sum(sum);
    for (uint i = lane; i < columns; i += 32) to[i] = exp(from[i] - most) / sum;
}
