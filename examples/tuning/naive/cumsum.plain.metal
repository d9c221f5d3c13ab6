// Running sum of every row: a thread a row.
#include <metal_stdlib>
using namespace metal;

kernel void cumsum(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float sum = 0;
    for (uint c = 0; c < columns; c++) {
        sum += x[row * columns + c];
        y[row * columns + c] = sum;
    }
}

// assay: launch cumsum --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
