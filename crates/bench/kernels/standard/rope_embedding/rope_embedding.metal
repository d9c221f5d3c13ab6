// Rotary positions: neighbouring pairs rotated by an angle that grows with the row. Precise functions: angles are large.
#include <metal_stdlib>
using namespace metal;
#include "attention.h"

kernel void rope_embedding_f32(device const float *x [[buffer(0)]],
                               device float *y [[buffer(1)]],
                               constant uint &rows [[buffer(2)]],
                               constant uint &size [[buffer(3)]],
                               constant float &base [[buffer(4)]],
                               uint2 at [[thread_position_in_grid]]) {
    uint pairs = size / 2;
    if (at.x >= pairs || at.y >= rows) return;
    uint place = at.y * pairs + at.x;
    ((device float2 *)y)[place] = rotate(((device const float2 *)x)[place], rotary_angle(at.y, at.x, size, base));
}
