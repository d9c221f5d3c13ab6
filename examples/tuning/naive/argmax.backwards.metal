// Where each row is largest, from its end: an equal one further ahead wins.
#include <metal_stdlib>
using namespace metal;

kernel void argmax(device uint *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float most = -INFINITY;
    int best = 0;
    for (int c = int(columns) - 1; c >= 0; --c) {
        float value = x[row * columns + uint(c)];
        if (value >= most) {
            most = value;
            best = c;
        }
    }
    y[row] = uint(best);
}

// assay: launch argmax --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:u32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
