// Rows of length one: one simdgroup's threadgroup, shuffles by hand.
#include <metal_stdlib>
using namespace metal;

kernel void l2_normalise(device float *y, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    float square = 0;
    for (uint c = tid; c < columns; c += 32) square += x[row * columns + c] * x[row * columns + c];
    for (ushort d = 16; d > 0; d /= 2) square += simd_shuffle_xor(square, d);
    float scale = rsqrt(square);
    for (uint c = tid; c < columns; c += 32) y[row * columns + c] = x[row * columns + c] * scale;
}

// assay: launch l2_normalise --size R=512 --size C=1024 --groups R --threadgroup 32 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg columns=C
