// Root of the sum of squares of a matrix: threadgroups add up a stretch each, then one threadgroup adds up their sums.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

kernel void frobenius_norm_partial_f32(device const float *x [[buffer(0)]],
                                       device float *partials [[buffer(1)]],
                                       constant uint &n [[buffer(2)]],
                                       constant uint &groups [[buffer(3)]],
                                       TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    uint part = (n / groups + 4) / 4 * 4;
    uint start = min(group.x * part, n);
    uint length = min(part, n - start);
    float sum = team.sum_of(x + start, length, Square());
    if (index == 0) partials[group.x] = sum;
}

kernel void frobenius_norm_f32(device const float *partials [[buffer(0)]],
                               device float *y [[buffer(1)]],
                               constant uint &groups [[buffer(2)]],
                               TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    float sum = team.sum_of(partials, groups, Identity());
    if (index == 0) y[0] = sqrt(sum);
}
