// Product of a matrix of 4-bit numbers and a vector: four bytes at a time.
#include <metal_stdlib>
using namespace metal;

kernel void q4_gemv(device float *y, device const half *scales, device const uchar *quants, device const float *x, constant uint &blocks, uint row [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint b = 0; b < blocks; b++) {
        device const uchar4 *q = (device const uchar4 *)(quants + (row * blocks + b) * 16);
        device const float4 *low = (device const float4 *)(x + b * 32);
        float part = 0;
        for (uint j = 0; j < 4; j++) {
            uchar4 four = q[j];
            part += dot(float4(four & 15) - 8.0f, low[j]) + dot(float4(four >> 4) - 8.0f, low[j + 4]);
        }
        sum += part * float(scales[row * blocks + b]);
    }
    y[row] = sum;
}

// assay: launch q4_gemv --size M=1024 --size B=64 --grid M --threadgroup 64 --arg y=zeros:f32:M --arg scales=random:f16:M*B --arg quants=index:u8:M*B*16:251 --arg x=random:f32:B*32 --arg blocks=B
