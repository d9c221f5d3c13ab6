// Iterates until the point escapes; neighbours diverge.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void mandelbrot(device uint *o [[buffer(0)]],
                       constant float &x0 [[buffer(1)]],
                       constant float &y0 [[buffer(2)]],
                       constant float &dx [[buffer(3)]],
                       constant uint &w [[buffer(4)]],
                       constant uint &maxit [[buffer(5)]],
                       uint2 g [[thread_position_in_grid]]) {
    float cx = x0 + float(g.x) * dx, cy = y0 + float(g.y) * dx, x = 0.0f, y = 0.0f;
    uint it = 0;
    while (it < maxit) {
        float x2 = x * x, y2 = y * y;
        if (x2 + y2 > 4.0f) break;
        y = 2.0f * x * y + cy;
        x = x2 - y2 + cx;
        ++it;
    }
    o[g.y * w + g.x] = it;
}
