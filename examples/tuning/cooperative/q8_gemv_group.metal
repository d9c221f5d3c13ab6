// Product of a matrix of bytes and a vector: a simdgroup a row, a lane a block, so that half of them idle.
#include <metal_stdlib>
using namespace metal;

kernel void q8_gemv_group(device float *y, device const float *scales, device const char *quants, device const float *x,
                          constant uint &blocks, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    float sum = 0;
    for (uint b = tid; b < blocks; b += 32) {
        float part = 0;
        for (uint j = 0; j < 32; j++) part += float(quants[(row * blocks + b) * 32 + j]) * x[b * 32 + j];
        sum += part * scales[row * blocks + b];
    }
    sum = simd_sum(sum);
    if (tid == 0) y[row] = sum;
}

// assay: launch q8_gemv_group --size R=512 --size B=16 --groups R --threadgroup 32 --arg y=zeros:f32:R --arg scales=random:f32:R*B --arg quants=index:i8:R*B*32:100 --arg x=random:f32:B*32 --arg blocks=B
