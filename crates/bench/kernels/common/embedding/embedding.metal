// Rows of a table, by indices given as floats; indices outside the table are moved to its ends.
#include <metal_stdlib>
using namespace metal;

kernel void embedding_f32(device const float *indices [[buffer(0)]],
                          device const float *table [[buffer(1)]],
                          device float *y [[buffer(2)]],
                          constant uint &count [[buffer(3)]],
                          constant uint &vocabulary [[buffer(4)]],
                          constant uint &width [[buffer(5)]],
                          uint2 at [[thread_position_in_grid]]) {
    if (at.x >= width || at.y >= count) return;
    uint row = uint(clamp(indices[at.y], 0.0f, float(vocabulary - 1)));
    y[at.y * width + at.x] = table[row * width + at.x];
}
