// Variance of every row, divided by the count.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

kernel void variance_f32(device const float *x [[buffer(0)]],
                         device float *y [[buffer(1)]],
                         constant uint &cols [[buffer(2)]],
                         TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    float mean = team.sum_of(x, cols, Identity()) / float(cols);
    float variance = team.sum_of(x, cols, SquareOfDifference{mean}) / float(cols);
    if (index == 0) y[group.y] = variance;
}
