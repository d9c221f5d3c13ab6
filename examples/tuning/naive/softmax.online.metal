// Softmax of every row: the sum is corrected as the largest grows.
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    device const float *from = x + row * columns;
    float most = -INFINITY, sum = 0;
    for (uint c = 0; c < columns; c++) {
        float next = max(most, from[c]);
        sum = sum * exp(most - next) + exp(from[c] - next);
        most = next;
    }
    for (uint c = 0; c < columns; c++) y[row * columns + c] = exp(from[c] - most) / sum;
}

// assay: launch softmax --size R=1024 --size C=512 --grid R --threadgroup 64 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
