// Where each row is largest: the best is read again in every round.
#include <metal_stdlib>
using namespace metal;

kernel void argmax(device uint *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    device const float *from = x + row * columns;
    uint best = 0;
    for (uint c = 1; c < columns; c++)
        if (from[c] > from[best]) best = c;
    y[row] = best;
}

// assay: launch argmax --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:u32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
