// Products of all pairs of elements of two vectors: a thread per pair.
#include <metal_stdlib>
using namespace metal;

kernel void outer_product_f32(device const float *x [[buffer(0)]],
                              device const float *z [[buffer(1)]],
                              device float *y [[buffer(2)]],
                              constant uint &rows [[buffer(3)]],
                              constant uint &cols [[buffer(4)]],
                              uint2 at [[thread_position_in_grid]]) {
    if (at.x < cols && at.y < rows) y[at.y * cols + at.x] = x[at.y] * z[at.x];
}
