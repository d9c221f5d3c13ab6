// Softmax of every row: a thread a row, three passes.
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float most = -INFINITY;
    for (uint c = 0; c < columns; c++) most = max(most, x[row * columns + c]);
    float sum = 0;
    for (uint c = 0; c < columns; c++) sum += exp(x[row * columns + c] - most);
    for (uint c = 0; c < columns; c++) y[row * columns + c] = exp(x[row * columns + c] - most) / sum;
}

// assay: launch softmax --size R=1024 --size C=512 --grid R --threadgroup 64 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
