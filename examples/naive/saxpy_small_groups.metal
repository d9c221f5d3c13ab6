// Scaled sum of vectors: one element a thread, a simdgroup a threadgroup.
#include <metal_stdlib>
using namespace metal;

kernel void saxpy_small_groups(device float *y [[buffer(0)]],
                               device const float *x [[buffer(1)]],
                               constant float &a [[buffer(2)]],
                               constant uint &n [[buffer(3)]],
                               uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = a * x[i] + y[i];
}

// assay: launch saxpy_small_groups --size N=1048576 --grid N --threadgroup 32 --buffer 0=random:f32:N --buffer 1=random:f32:N --bytes 2=f32:2 --bytes 3=u32:N
