// Product of a matrix of 4-bit numbers and a vector: low and high halves apart, eight taken away at the end.
#include <metal_stdlib>
using namespace metal;

kernel void q4_gemv(device float *y, device const half *scales, device const uchar *quants, device const float *x, constant uint &blocks, uint row [[thread_position_in_grid]]) {
    float low = 0, high = 0, all = 0;
    uint b = 0;
    while (b < blocks) {
        float scale = float(scales[row * blocks + b]);
        float l = 0, h = 0, a = 0;
        for (uint j = 0; j < 16; j++) {
            uint pair = quants[(row * blocks + b) * 16 + j];
            l += float(pair % 16) * x[b * 32 + j];
            h += float(pair / 16) * x[b * 32 + j + 16];
            a += x[b * 32 + j] + x[b * 32 + j + 16];
        }
        low += l * scale;
        high += h * scale;
        all += a * scale;
        b++;
    }
    y[row] = low + high - 8.0f * all;
}

// assay: launch q4_gemv --size M=1024 --size B=64 --grid M --threadgroup 64 --arg y=zeros:f32:M --arg scales=random:f16:M*B --arg quants=index:u8:M*B*16:251 --arg x=random:f32:B*32 --arg blocks=B
