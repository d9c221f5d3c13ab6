// Where each row is largest: a pointer walks along, the place is a difference.
#include <metal_stdlib>
using namespace metal;

kernel void argmax(device uint *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    device const float *from = x + row * columns;
    float most = -INFINITY;
    uint best = 0;
    device const float *p = from;
    for (uint left = columns; left != 0; left--, p++) {
        if (*p > most) {
            most = *p;
            best = columns - left;
        }
    }
    y[row] = best;
}

// assay: launch argmax --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:u32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
