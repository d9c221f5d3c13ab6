// Transpose: neighbouring threads read a row and write a column.
#include <metal_stdlib>
using namespace metal;

kernel void transpose(device float *y [[buffer(0)]],
                      device const float *x [[buffer(1)]],
                      constant uint &rows [[buffer(2)]],
                      constant uint &columns [[buffer(3)]],
                      uint2 at [[thread_position_in_grid]]) {
    if (at.x >= columns || at.y >= rows) return;
    y[at.x * rows + at.y] = x[at.y * columns + at.x];
}

// assay: launch transpose --size R=2048 --size C=2048 --grid C,R --threadgroup 32,8 --buffer 0=zeros:f32:R*C --buffer 1=random:f32:R*C --bytes 2=u32:R --bytes 3=u32:C
