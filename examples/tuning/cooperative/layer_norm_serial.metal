// Layer norm: every thread adds all partial sums for itself.
#include <metal_stdlib>
using namespace metal;

kernel void layer_norm_serial(device float *y, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float sums[256], squares[256];
    float sum = 0, square = 0;
    for (uint c = tid; c < columns; c += 256) {
        float value = x[row * columns + c];
        sum += value;
        square += value * value;
    }
    sums[tid] = sum;
    squares[tid] = square;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = 0;
    square = 0;
    for (uint i = 0; i < 256; i++) {
        sum += sums[i];
        square += squares[i];
    }
    float mean = sum / float(columns), scale = rsqrt(square / float(columns) - mean * mean + 1e-5f);
    for (uint c = tid; c < columns; c += 256) y[row * columns + c] = (x[row * columns + c] - mean) * scale;
}

// assay: launch layer_norm_serial --size R=512 --size C=1024 --groups R --threadgroup 256 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg columns=C
