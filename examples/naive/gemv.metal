// Product of a matrix and a vector: a thread per row.
#include <metal_stdlib>
using namespace metal;

kernel void gemv(device float *y [[buffer(0)]],
                 device const float *a [[buffer(1)]],
                 device const float *x [[buffer(2)]],
                 constant uint &m [[buffer(3)]],
                 constant uint &k [[buffer(4)]],
                 uint row [[thread_position_in_grid]]) {
    if (row >= m) return;
    float sum = 0;
    for (uint i = 0; i < k; i++) sum += a[row * k + i] * x[i];
    y[row] = sum;
}

// assay: launch gemv --size M=4096 --size K=2048 --grid M --threadgroup 64 --buffer 0=zeros:f32:M --buffer 1=random:f32:M*K --buffer 2=random:f32:K --bytes 3=u32:M --bytes 4=u32:K
