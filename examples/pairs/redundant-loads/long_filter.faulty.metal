// A filter of 512 taps; every thread loads taps and samples.
#include <metal_stdlib>
using namespace metal;

kernel void long_filter(device float *y, device const float *x, device const float *taps, constant uint &n,
                        uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < n; k++)
        sum += taps[k] * x[i + k]; // fault: redundant-loads
    y[i] = sum;
}

// assay: launch long_filter --size N=32768 --size K=512 --grid N --threadgroup 256 --arg y=zeros:f32:N --arg x=random:f32:N+1024 --arg taps=random:f32:K --arg n=K
