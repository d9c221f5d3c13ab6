// Where each row is largest: a simdgroup a row.
#include <metal_stdlib>
using namespace metal;

kernel void argmax(device uint *y, device const float *x, constant uint &rows, constant uint &columns,
                   uint thread_ [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint row = thread_ / 32;
    if (row >= rows) return;
    device const float *from = x + row * columns;
    float most = -INFINITY;
    uint best = 0;
    for (uint c = lane; c < columns; c += 32) {
        float value = from[c];
        if (value > most) {
            most = value;
            best = c;
        }
    }
    float all = simd_max(most);
    uint first = simd_min(most == all ? best : 0xffffffffu);
    if (lane == 0) y[row] = first;
}

// assay: launch argmax --size R=1024 --size C=1024 --grid R*32 --threadgroup 256 --arg y=zeros:u32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
