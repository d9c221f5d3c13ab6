// Norm of channels, the channel being the fast axis: a threadgroup a channel.
#include <metal_stdlib>
using namespace metal;

kernel void batch_norm_group(device float *y, device const float *x, constant uint &n, constant uint &channels,
                             uint channel [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float sums[128], squares[128];
    float sum = 0, square = 0;
    for (uint i = tid; i < n; i += 128) {
        float value = x[i * channels + channel];
        sum += value;
        square += value * value;
    }
    sums[tid] = sum;
    squares[tid] = square;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 64; s > 0; s /= 2) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
            squares[tid] += squares[tid + s];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    float mean = sums[0] / float(n), scale = rsqrt(squares[0] / float(n) - mean * mean + 1e-5f);
    for (uint i = tid; i < n; i += 128) y[i * channels + channel] = (x[i * channels + channel] - mean) * scale;
}

// assay: launch batch_norm_group --size N=1024 --size C=64 --groups C --threadgroup 128 --arg y=zeros:f32:N*C --arg x=random:f32:N*C --arg n=N --arg channels=C
