// Sum of every column: even and odd rows apart.
#include <metal_stdlib>
using namespace metal;

kernel void column_sum(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint column [[thread_position_in_grid]]) {
    float even = 0, odd = 0;
    uint r = 0;
    for (; r + 1 < rows; r += 2) {
        even += x[r * columns + column];
        odd += x[(r + 1) * columns + column];
    }
    if (r < rows) even += x[r * columns + column];
    y[column] = even + odd;
}

// assay: launch column_sum --size R=2048 --size C=512 --grid C --threadgroup 64 --arg y=zeros:f32:C --arg x=random:f32:R*C --arg rows=R --arg columns=C
