// A copy of a matrix, one thread per element.
#include <metal_stdlib>
using namespace metal;

kernel void copy_2d(device const float *from [[buffer(0)]],
                    device float *to [[buffer(1)]],
                    constant uint2 &size [[buffer(2)]],
                    uint2 p [[thread_position_in_grid]]) {
    if (p.x >= size.x || p.y >= size.y) return;
    to[p.y * size.x + p.x] = from[p.y * size.x + p.x];
}
