// Running sum of every row: two elements a round.
#include <metal_stdlib>
using namespace metal;

kernel void cumsum(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    uint at = row * columns, c = 0;
    float sum = 0;
    for (; c + 2 <= columns; c += 2) {
        float first = x[at + c], second = x[at + c + 1];
        y[at + c] = sum + first;
        sum += first + second;
        y[at + c + 1] = sum;
    }
    if (c < columns) y[at + c] = sum + x[at + c];
}

// assay: launch cumsum --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
