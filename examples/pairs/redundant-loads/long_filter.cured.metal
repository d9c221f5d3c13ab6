// A filter of 512 taps; every thread loads taps and samples. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void long_filter(device float *y, device const float *x, device const float *taps, constant uint &n,
                        uint i [[thread_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float samples[768], held[256];
    float sum = 0;
    for (uint first = 0; first < n; first += 256) {
        held[tid] = taps[first + tid];
        samples[tid] = x[i + first];
        samples[tid + 256] = x[i + first + 256];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < 256; k++) sum += held[k] * samples[tid + k];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    y[i] = sum;
}

// assay: launch long_filter --size N=32768 --size K=512 --grid N --threadgroup 256 --arg y=zeros:f32:N --arg x=random:f32:N+1024 --arg taps=random:f32:K --arg n=K
