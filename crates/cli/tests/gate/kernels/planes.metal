// Kernels as users write them: one element of a plane a thread.
#include <metal_stdlib>
using namespace metal;

kernel void matmul(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                   device float *c [[buffer(2)]], constant uint &n [[buffer(3)]],
                   uint2 at [[thread_position_in_grid]]) {
    if (at.x >= n || at.y >= n)
        return;
    float sum = 0.0f;
    for (uint k = 0; k < n; ++k)
        sum = fma(a[at.y * n + k], b[k * n + at.x], sum);
    c[at.y * n + at.x] = sum;
}

kernel void transpose(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                      constant uint &n [[buffer(2)]], uint2 at [[thread_position_in_grid]]) {
    if (at.x < n && at.y < n)
        y[at.x * n + at.y] = x[at.y * n + at.x];
}

kernel void blur(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &n [[buffer(2)]],
                 uint2 at [[thread_position_in_grid]]) {
    if (at.x >= n || at.y >= n)
        return;
    uint left = at.x > 0 ? at.x - 1 : 0;
    uint right = min(at.x + 1, n - 1);
    float sum = x[at.y * n + left] + 2.0f * x[at.y * n + at.x] + x[at.y * n + right];
    y[at.y * n + at.x] = sum * 0.25f;
}
