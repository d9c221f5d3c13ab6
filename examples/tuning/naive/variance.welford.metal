// Variance of every row: Welford's way, mean and squares in one pass.
#include <metal_stdlib>
using namespace metal;

kernel void variance(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float mean = 0, squares = 0;
    for (uint c = 0; c < columns; c++) {
        float value = x[row * columns + c];
        float d = value - mean;
        mean += d / float(c + 1);
        squares += d * (value - mean);
    }
    y[row] = squares / float(columns);
}

// assay: launch variance --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
