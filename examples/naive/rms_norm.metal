// Root mean square norm: a thread per row.
#include <metal_stdlib>
using namespace metal;

kernel void rms_norm(device float *y [[buffer(0)]],
                     device const float *x [[buffer(1)]],
                     device const float *weight [[buffer(2)]],
                     constant uint &rows [[buffer(3)]],
                     constant uint &columns [[buffer(4)]],
                     uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float squares = 0;
    for (uint i = 0; i < columns; i++) squares += x[row * columns + i] * x[row * columns + i];
    float scale = rsqrt(squares / columns + 1e-5f);
    for (uint i = 0; i < columns; i++) y[row * columns + i] = x[row * columns + i] * scale * weight[i];
}

// assay: launch rms_norm --size R=4096 --size C=1024 --grid R --threadgroup 64 --buffer 0=zeros:f32:R*C --buffer 1=random:f32:R*C --buffer 2=random:f32:C --bytes 3=u32:R --bytes 4=u32:C
