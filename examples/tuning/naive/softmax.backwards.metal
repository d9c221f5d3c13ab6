// Softmax of every row: loops that count down.
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    const uint at = row * columns;
    float most = -INFINITY, sum = 0;
    for (int c = int(columns) - 1; c >= 0; c--) most = fmax(x[at + uint(c)], most);
    uint left = columns;
    while (left-- > 0) sum += exp(x[at + left] - most);
    for (int c = int(columns) - 1; c >= 0; c--) y[at + uint(c)] = exp(x[at + uint(c)] - most) / sum;
}

// assay: launch softmax --size R=1024 --size C=512 --grid R --threadgroup 64 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
