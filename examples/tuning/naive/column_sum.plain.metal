// Sum of every column: a thread a column.
#include <metal_stdlib>
using namespace metal;

kernel void column_sum(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint column [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint r = 0; r < rows; r++) sum += x[r * columns + column];
    y[column] = sum;
}

// assay: launch column_sum --size R=2048 --size C=512 --grid C --threadgroup 64 --arg y=zeros:f32:C --arg x=random:f32:R*C --arg rows=R --arg columns=C
