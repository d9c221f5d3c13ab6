// Running sum of every row: each result is made of the one before, read again.
#include <metal_stdlib>
using namespace metal;

kernel void cumsum(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    uint at = row * columns;
    y[at] = x[at];
    for (uint c = 1; c < columns; c++) y[at + c] = y[at + c - 1] + x[at + c];
}

// assay: launch cumsum --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
