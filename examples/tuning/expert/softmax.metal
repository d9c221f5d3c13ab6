// Softmax of every row: a simdgroup a row, the sum corrected as the largest grows.
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device float *y, device const float *x, constant uint &rows, constant uint &columns,
                    uint thread_ [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint row = thread_ / 32;
    if (row >= rows) return;
    device const float *from = x + row * columns;
    float most = -INFINITY;
    for (uint c = lane; c < columns; c += 32) most = max(most, from[c]);
    most = simd_max(most);
    float sum = 0;
    for (uint c = lane; c < columns; c += 32) sum += exp(from[c] - most);
    float scale = 1.0f / simd_sum(sum);
    for (uint c = lane; c < columns; c += 32) y[row * columns + c] = exp(from[c] - most) * scale;
}

// assay: launch softmax --size R=1024 --size C=512 --grid R*32 --threadgroup 128 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
