// Softmax of every row: exponentials are stored, then divided.
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    device const float *from = x + row * columns;
    device float *to = y + row * columns;
    float most = from[0];
    for (uint c = 1; c < columns; c++)
        if (from[c] > most) most = from[c];
    float sum = 0;
    for (uint c = 0; c < columns; c++) {
        to[c] = exp(from[c] - most);
        sum += to[c];
    }
    for (uint c = 0; c < columns; c++) to[c] /= sum;
}

// assay: launch softmax --size R=1024 --size C=512 --grid R --threadgroup 64 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
