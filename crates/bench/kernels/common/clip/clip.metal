// Limits to the range from low to high.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct Clip {
    float low;
    float high;
    float operator()(float x) const { return clamp(x, low, high); }
};

kernel void clip_f32(device const float *x [[buffer(0)]],
                     device float *y [[buffer(1)]],
                     constant uint &n [[buffer(2)]],
                     constant uint &grid_size [[buffer(3)]],
                     constant float &low [[buffer(4)]],
                     constant float &high [[buffer(5)]],
                     uint i [[thread_position_in_grid]]) {
    each_of_one(x, y, n, i, grid_size, Clip{low, high});
}
