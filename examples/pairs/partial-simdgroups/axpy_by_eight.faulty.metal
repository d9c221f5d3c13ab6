// y += a x in threadgroups of 8.
#include <metal_stdlib>
using namespace metal;

kernel void axpy(device float *y, device const float *x, constant float &a, uint i [[thread_position_in_grid]]) { // fault: partial-simdgroups
    y[i] += a * x[i];
}

// assay: launch axpy --size N=1048576 --grid N --threadgroup 8 --arg y=zeros:f32:N --arg x=random:f32:N --arg a=2.0
