// Copy of every other column: one element a thread, the matrix walked by columns.
#include <metal_stdlib>
using namespace metal;

kernel void strided_copy(device float *y [[buffer(0)]],
                         device const float *x [[buffer(1)]],
                         constant uint &rows [[buffer(2)]],
                         constant uint &columns [[buffer(3)]],
                         uint2 at [[thread_position_in_grid]]) {
    if (at.x >= rows || at.y >= columns) return;
    y[at.x * columns + at.y] = x[(at.x * columns + at.y) * 2];
}

// assay: launch strided_copy --size R=2048 --size C=1024 --grid R,C --threadgroup 32,8 --buffer 0=zeros:f32:R*C --buffer 1=random:f32:R*C*2 --bytes 2=u32:R --bytes 3=u32:C
