// Variance of every row: sum and sum of squares in one pass.
#include <metal_stdlib>
using namespace metal;

kernel void variance(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float sum = 0, squares = 0;
    for (uint c = columns; c != 0; --c) {
        float value = x[row * columns + c - 1];
        sum += value;
        squares = fma(value, value, squares);
    }
    float mean = sum / float(columns);
    y[row] = squares / float(columns) - mean * mean;
}

// assay: launch variance --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
