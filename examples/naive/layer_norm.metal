// Layer norm: a thread per row, mean and variance in one pass each.
#include <metal_stdlib>
using namespace metal;

kernel void layer_norm(device float *y [[buffer(0)]],
                       device const float *x [[buffer(1)]],
                       device const float *weight [[buffer(2)]],
                       device const float *bias [[buffer(3)]],
                       constant uint &rows [[buffer(4)]],
                       constant uint &columns [[buffer(5)]],
                       uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float sum = 0;
    for (uint i = 0; i < columns; i++) sum += x[row * columns + i];
    float mean = sum / columns;
    float squares = 0;
    for (uint i = 0; i < columns; i++) {
        float d = x[row * columns + i] - mean;
        squares += d * d;
    }
    float scale = rsqrt(squares / columns + 1e-5f);
    for (uint i = 0; i < columns; i++) {
        y[row * columns + i] = (x[row * columns + i] - mean) * scale * weight[i] + bias[i];
    }
}

// assay: launch layer_norm --size R=4096 --size C=1024 --grid R --threadgroup 64 --buffer 0=zeros:f32:R*C --buffer 1=random:f32:R*C --buffer 2=random:f32:C --buffer 3=random:f32:C --bytes 4=u32:R --bytes 5=u32:C
