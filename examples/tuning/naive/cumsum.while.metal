// Running sum of every row: a while loop with the index behind.
#include <metal_stdlib>
using namespace metal;

kernel void cumsum(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float sum = 0.0f;
    uint i = row * columns;
    const uint end = i + columns;
    while (i < end) {
        float next = sum + x[i];
        y[i] = next;
        sum = next;
        i += 1;
    }
}

// assay: launch cumsum --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
