// A map over a matrix whose fast axis runs along columns: neighbouring threads are a row apart.
#include <metal_stdlib>
using namespace metal;

kernel void column_map(device float *y [[buffer(0)]],
                       device const float *x [[buffer(1)]],
                       constant uint &rows [[buffer(2)]],
                       constant uint &columns [[buffer(3)]],
                       uint2 at [[thread_position_in_grid]]) {
    if (at.x >= rows || at.y >= columns) return;
    uint i = at.x * columns + at.y;
    y[i] = x[i] / (1.0f + exp(-x[i]));
}

// assay: launch column_map --size R=2048 --size C=2048 --grid R,C --threadgroup 32,8 --buffer 0=zeros:f32:R*C --buffer 1=random:f32:R*C --bytes 2=u32:R --bytes 3=u32:C
