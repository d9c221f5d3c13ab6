// Product of a matrix of 4-bit numbers and a vector: one loop over elements, each finds its block.
#include <metal_stdlib>
using namespace metal;

kernel void q4_gemv(device float *y, device const half *scales, device const uchar *quants, device const float *x, constant uint &blocks, uint row [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint c = 0; c < blocks * 32; c++) {
        uint b = c / 32, j = c % 32;
        uchar pair = quants[(row * blocks + b) * 16 + j % 16];
        int number = j < 16 ? pair & 15 : pair >> 4;
        sum += float(number - 8) * float(scales[row * blocks + b]) * x[c];
    }
    y[row] = sum;
}

// assay: launch q4_gemv --size M=1024 --size B=64 --grid M --threadgroup 64 --arg y=zeros:f32:M --arg scales=random:f16:M*B --arg quants=index:u8:M*B*16:251 --arg x=random:f32:B*32 --arg blocks=B
