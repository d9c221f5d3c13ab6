// Variance of every row: a simdgroup a row, the mean first.
#include <metal_stdlib>
using namespace metal;

kernel void variance(device float *y, device const float *x, constant uint &rows, constant uint &columns,
                     uint thread_ [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint row = thread_ / 32;
    if (row >= rows) return;
    device const float *from = x + row * columns;
    float sum = 0, squares = 0;
    for (uint c = lane; c < columns; c += 32) sum += from[c];
    float mean = simd_sum(sum) / float(columns);
    for (uint c = lane; c < columns; c += 32) squares += (from[c] - mean) * (from[c] - mean);
    squares = simd_sum(squares);
    if (lane == 0) y[row] = squares / float(columns);
}

// assay: launch variance --size R=1024 --size C=1024 --grid R*32 --threadgroup 256 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
