// Sum of magnitudes of every row.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

kernel void l1_norm_f32(device const float *x [[buffer(0)]],
                        device float *y [[buffer(1)]],
                        constant uint &cols [[buffer(2)]],
                        TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    float sum = team.sum_of(x, cols, Magnitude());
    if (index == 0) y[group.y] = sum;
}
