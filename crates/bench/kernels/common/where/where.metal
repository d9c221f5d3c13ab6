// Chooses a where the condition is above 1/2, b elsewhere.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct Where {
    float operator()(float condition, float a, float b) const { return condition > 0.5f ? a : b; }
};

kernel void where_f32(device const float *condition [[buffer(0)]],
                      device const float *a [[buffer(1)]],
                      device const float *b [[buffer(2)]],
                      device float *y [[buffer(3)]],
                      constant uint &n [[buffer(4)]],
                      constant uint &grid_size [[buffer(5)]],
                      uint i [[thread_position_in_grid]]) {
    each_of_three(condition, a, b, y, n, i, grid_size, Where());
}
