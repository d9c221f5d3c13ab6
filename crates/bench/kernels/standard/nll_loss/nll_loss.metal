// Negative log likelihood of every row with a one-hot target.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

kernel void nll_loss_f32(device const float *log_probability [[buffer(0)]],
                         device const float *target [[buffer(1)]],
                         device float *y [[buffer(2)]],
                         constant uint &rows [[buffer(3)]],
                         constant uint &cols [[buffer(4)]],
                         TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    float sum = team.sum_of(log_probability + group.y * cols, target + group.y * cols, cols, Product());
    if (index == 0) y[group.y] = -sum;
}
