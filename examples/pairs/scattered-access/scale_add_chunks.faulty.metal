// y += a x; every thread takes 32 neighbouring elements.
#include <metal_stdlib>
using namespace metal;

kernel void scale_add(device float *y, device const float *x, constant float &a, constant uint &n,
                      uint i [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    uint each = n / threads;
    for (uint k = 0; k < each; k++)
        y[i * each + k] += a * x[i * each + k];  // fault: scattered-access
}

// assay: launch scale_add --size N=4194304 --grid N/32 --threadgroup 256 --arg y=zeros:f32:N --arg x=random:f32:N --arg a=2.0 --arg n=N
