// Convolution by 32 taps: signal staged by a threadgroup, its first thread fetches the rest.
#include <metal_stdlib>
using namespace metal;

kernel void conv1d_tile(device float *y, device const float *x, device const float *w,
                        uint i [[thread_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float signal[160];
    signal[tid] = x[i];
    if (tid == 0)
        for (uint k = 0; k < 31; k++) signal[128 + k] = x[i + 128 + k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint k = 0; k < 32; k++) sum += w[k] * signal[tid + k];
    y[i] = sum;
}

// assay: launch conv1d_tile --size N=65536 --grid N --threadgroup 128 --arg y=zeros:f32:N --arg x=random:f32:N+31 --arg w=random:f32:32
