// Product of a matrix of 4-bit numbers and a vector: pointers walk along.
#include <metal_stdlib>
using namespace metal;

kernel void q4_gemv(device float *y, device const half *scales, device const uchar *quants, device const float *x, constant uint &blocks, uint row [[thread_position_in_grid]]) {
    device const uchar *q = quants + row * blocks * 16;
    device const half *scale = scales + row * blocks;
    device const float *from = x;
    float sum = 0;
    for (uint left = blocks; left-- > 0;) {
        float part = 0;
        for (int j = 0; j < 16; ++j, ++q) {
            part = fma(float(*q & 0xf) - 8.0f, from[j], part);
            part = fma(float(*q >> 4) - 8.0f, from[j + 16], part);
        }
        from += 32;
        sum += part * float(*scale++);
    }
    y[row] = sum;
}

// assay: launch q4_gemv --size M=1024 --size B=64 --grid M --threadgroup 64 --arg y=zeros:f32:M --arg scales=random:f16:M*B --arg quants=index:u8:M*B*16:251 --arg x=random:f32:B*32 --arg blocks=B
