// Sums of squares by four threadgroups of 1024.
#include <metal_stdlib>
using namespace metal;

kernel void sum_squares(device float *part, device const float *x, constant uint &n, uint i [[thread_position_in_grid]], // fault: too-few-threadgroups
                        uint threads [[threads_per_grid]]) {
    float sum = 0;
    for (uint k = i; k < n; k += threads) sum += x[k] * x[k];
    part[i] = sum;
}

// assay: launch sum_squares --size N=8388608 --grid 4096 --threadgroup 1024 --arg part=zeros:f32:4096 --arg x=random:f32:N --arg n=N
