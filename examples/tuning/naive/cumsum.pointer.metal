// Running sum of every row: two pointers walk along.
#include <metal_stdlib>
using namespace metal;

kernel void cumsum(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    device const float *from = x + row * columns;
    device float *to = y + row * columns;
    float sum = 0;
    for (uint left = columns; left > 0; --left) {
        sum = sum + *from++;
        *to++ = sum;
    }
}

// assay: launch cumsum --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
