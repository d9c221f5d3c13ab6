// Variance of every row: four numbers a round, C a multiple of four.
#include <metal_stdlib>
using namespace metal;

kernel void variance(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    device const float4 *from = (device const float4 *)(x + row * columns);
    float4 sum = 0, squares = 0;
    for (uint c = 0; c < columns / 4; c++) sum += from[c];
    float mean = (sum.x + sum.y + sum.z + sum.w) / float(columns);
    for (uint c = 0; c < columns / 4; c++) {
        float4 d = from[c] - mean;
        squares += d * d;
    }
    y[row] = (squares.x + squares.y + squares.z + squares.w) / float(columns);
}

// assay: launch variance --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
