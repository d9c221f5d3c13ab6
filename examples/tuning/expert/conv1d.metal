// Convolution of a long signal: 512 results a threadgroup, four a thread; the signal and up to 512 taps are staged.
#include <metal_stdlib>
using namespace metal;

kernel void conv1d(device float *y, device const float *x, device const float *w, constant uint &n, constant uint &taps,
                   uint group [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float signal[1024], tap[512];
    uint first = group * 512, end = n + taps - 1;
    for (uint k = tid; k < taps; k += 128) tap[k] = w[k];
    for (uint k = tid; k < 512 + taps - 1; k += 128) signal[k] = first + k < end ? x[first + k] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum[4] = {0, 0, 0, 0};
    for (uint k = 0; k < taps; k++) {
        float by = tap[k];
        for (uint r = 0; r < 4; r++) sum[r] += by * signal[tid + r * 128 + k];
    }
    for (uint r = 0; r < 4; r++) {
        uint i = first + tid + r * 128;
        if (i < n) y[i] = sum[r];
    }
}

// assay: launch conv1d --size N=65536 --size K=64 --groups ceil_div(N,512) --threadgroup 128 --arg y=zeros:f32:N --arg x=random:f32:N+K-1 --arg w=random:f32:K --arg n=N --arg taps=K
