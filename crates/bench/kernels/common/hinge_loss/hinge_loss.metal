// Hinge loss of each element: max(1 - prediction target, 0), targets -1 or 1.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct HingeLoss {
    float operator()(float prediction, float target) const { return max(1.0f - prediction * target, 0.0f); }
};

kernel void hinge_loss_f32(device const float *prediction [[buffer(0)]],
                           device const float *target [[buffer(1)]],
                           device float *y [[buffer(2)]],
                           constant uint &n [[buffer(3)]],
                           constant uint &grid_size [[buffer(4)]],
                           uint i [[thread_position_in_grid]]) {
    each_of_two(prediction, target, y, n, i, grid_size, HingeLoss());
}
