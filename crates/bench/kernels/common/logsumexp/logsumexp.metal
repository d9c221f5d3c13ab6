// Logarithm of the sum of exponentials of every row.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

kernel void logsumexp_f32(device const float *x [[buffer(0)]],
                          device float *y [[buffer(1)]],
                          constant uint &cols [[buffer(2)]],
                          TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    float shift = team.largest_of(x, cols);
    float sum = team.sum_of(x, cols, ShiftedExponential{shift});
    if (index == 0) y[group.y] = shift + log(sum);
}
