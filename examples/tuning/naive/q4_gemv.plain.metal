// Product of a matrix of 4-bit numbers and a vector: a thread a row. A block has a scale and 32 numbers.
#include <metal_stdlib>
using namespace metal;

kernel void q4_gemv(device float *y, device const half *scales, device const uchar *quants, device const float *x, constant uint &blocks, uint row [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint b = 0; b < blocks; b++) {
        float part = 0;
        for (uint j = 0; j < 16; j++) {
            uchar pair = quants[(row * blocks + b) * 16 + j];
            part += float(int(pair & 15) - 8) * x[b * 32 + j];
            part += float(int(pair >> 4) - 8) * x[b * 32 + j + 16];
        }
        sum += part * float(scales[row * blocks + b]);
    }
    y[row] = sum;
}

// assay: launch q4_gemv --size M=1024 --size B=64 --grid M --threadgroup 64 --arg y=zeros:f32:M --arg scales=random:f16:M*B --arg quants=index:u8:M*B*16:251 --arg x=random:f32:B*32 --arg blocks=B
