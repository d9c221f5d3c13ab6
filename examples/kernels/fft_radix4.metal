// One radix-4 butterfly per thread.
#include <metal_stdlib>
using namespace metal;

static float2 times(float2 a, float2 b) {
    return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

[[max_total_threads_per_threadgroup(64)]]
kernel void fft_radix4(device float2 *d [[buffer(0)]],
                       constant uint &stride [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
    float2 a = d[i], b = d[i + stride], c = d[i + 2 * stride], e = d[i + 3 * stride];
    float angle = -6.2831853f * float(i) / float(4 * stride);
    float2 w1 = float2(fast::cos(angle), fast::sin(angle));
    float2 w2 = times(w1, w1), w3 = times(w1, w2);
    b = times(b, w1);
    c = times(c, w2);
    e = times(e, w3);
    float2 s0 = a + c, s1 = a - c, s2 = b + e, s3 = b - e;
    d[i] = s0 + s2;
    d[i + stride] = float2(s1.x + s3.y, s1.y - s3.x);
    d[i + 2 * stride] = s0 - s2;
    d[i + 3 * stride] = float2(s1.x - s3.y, s1.y + s3.x);
}
