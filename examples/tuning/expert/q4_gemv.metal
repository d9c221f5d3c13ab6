// Product of a matrix of 4-bit numbers and a vector: a simdgroup for two rows, two lanes a block, eight bytes a lane. M is even.
#include <metal_stdlib>
using namespace metal;

kernel void q4_gemv(device float *y, device const half *scales, device const uchar *quants, device const float *x,
                    constant uint &blocks, uint thread_ [[thread_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]]) {
    uint row = thread_ / 32 * 2, part = lane % 2;
    float sum[2] = {0, 0};
    for (uint b = lane / 2; b < blocks; b += 16) {
        device const float4 *low = (device const float4 *)(x + b * 32 + part * 8);
        float4 x0 = low[0], x1 = low[1], x2 = low[4], x3 = low[5];
        for (uint i = 0; i < 2; i++) {
            uint at = (row + i) * blocks + b;
            device const uchar4 *q = (device const uchar4 *)(quants + at * 16 + part * 8);
            uchar4 a = q[0], c = q[1];
            float own = dot(float4(a & 15) - 8.0f, x0) + dot(float4(c & 15) - 8.0f, x1) +
                        dot(float4(a >> 4) - 8.0f, x2) + dot(float4(c >> 4) - 8.0f, x3);
            sum[i] += own * float(scales[at]);
        }
    }
    for (uint i = 0; i < 2; i++) {
        float all = simd_sum(sum[i]);
        if (lane == 0) y[row + i] = all;
    }
}

// assay: launch q4_gemv --size M=1024 --size B=64 --grid ceil_div(M,2)*32 --threadgroup 64 --arg y=zeros:f32:M --arg scales=random:f16:M*B --arg quants=index:u8:M*B*16:251 --arg x=random:f32:B*32 --arg blocks=B
