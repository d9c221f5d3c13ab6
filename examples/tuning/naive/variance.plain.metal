// Variance of every row: the mean first.
#include <metal_stdlib>
using namespace metal;

kernel void variance(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float sum = 0, squares = 0;
    for (uint c = 0; c < columns; c++) sum += x[row * columns + c];
    float mean = sum / float(columns);
    for (uint c = 0; c < columns; c++) {
        float d = x[row * columns + c] - mean;
        squares += d * d;
    }
    y[row] = squares / float(columns);
}

// assay: launch variance --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
