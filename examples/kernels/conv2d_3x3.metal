// A 3 by 3 filter over the inside of an image.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void conv2d_3x3(device float *o [[buffer(0)]],
                       device const float *x [[buffer(1)]],
                       constant float *f [[buffer(2)]],
                       constant int &w [[buffer(3)]],
                       constant int &h [[buffer(4)]],
                       uint2 g [[thread_position_in_grid]]) {
    int i = int(g.x), j = int(g.y);
    if (i < 1 || j < 1 || i >= w - 1 || j >= h - 1) {
        return;
    }
    float a = 0.0f;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            a = fma(x[(j + dy) * w + i + dx], f[(dy + 1) * 3 + dx + 1], a);
        }
    }
    o[j * w + i] = a;
}
