// Sum of every column: the shape is a vector, the loop is left by break.
#include <metal_stdlib>
using namespace metal;

kernel void column_sum(device float *y, device const float *x, constant uint2 &shape, uint column [[thread_position_in_grid]]) {
    if (column >= shape.y) return;
    float sum = 0;
    int r = 0;
    while (true) {
        if (r >= int(shape.x)) break;
        sum += x[uint(r) * shape.y + column];
        ++r;
    }
    y[column] = sum;
}

// assay: launch column_sum --size R=2048 --size C=512 --grid C --threadgroup 64 --arg y=zeros:f32:C --arg x=random:f32:R*C --bytes 2=u32:R,C
