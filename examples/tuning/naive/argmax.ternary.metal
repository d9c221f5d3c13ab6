// Where each row is largest: two choices by one comparison.
#include <metal_stdlib>
using namespace metal;

kernel void argmax(device uint *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float most = x[row * columns];
    uint best = 0;
    for (uint c = 1; c < columns; c++) {
        float value = x[row * columns + c];
        bool better = value > most;
        best = better ? c : best;
        most = better ? value : most;
    }
    y[row] = best;
}

// assay: launch argmax --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:u32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
