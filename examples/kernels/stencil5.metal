// Five-point stencil over the inside of a grid.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void stencil5(device float *o [[buffer(0)]],
                     device const float *x [[buffer(1)]],
                     constant uint &w [[buffer(2)]],
                     constant float &c0 [[buffer(3)]],
                     constant float &c1 [[buffer(4)]],
                     uint2 g [[thread_position_in_grid]]) {
    uint i = g.x + 1, j = g.y + 1, p = j * w + i;
    o[p] = c0 * x[p] + c1 * (x[p - 1] + x[p + 1] + x[p - w] + x[p + w]);
}
