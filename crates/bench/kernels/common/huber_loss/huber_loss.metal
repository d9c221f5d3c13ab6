// Huber loss of each element: quadratic up to delta, linear beyond.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct HuberLoss {
    float delta;
    float operator()(float prediction, float target) const {
        float r = fabs(prediction - target);
        return r <= delta ? 0.5f * r * r : delta * (r - 0.5f * delta);
    }
};

kernel void huber_loss_f32(device const float *prediction [[buffer(0)]],
                           device const float *target [[buffer(1)]],
                           device float *y [[buffer(2)]],
                           constant uint &n [[buffer(3)]],
                           constant uint &grid_size [[buffer(4)]],
                           constant float &delta [[buffer(5)]],
                           uint i [[thread_position_in_grid]]) {
    each_of_two(prediction, target, y, n, i, grid_size, HuberLoss{delta});
}
