// Product of two vectors: threadgroups add up a stretch each, then one threadgroup adds up their sums.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

kernel void dot_product_partial_f32(device const float *x [[buffer(0)]],
                                    device const float *z [[buffer(1)]],
                                    device float *partials [[buffer(2)]],
                                    constant uint &n [[buffer(3)]],
                                    constant uint &groups [[buffer(4)]],
                                    TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    uint part = (n / groups + 4) / 4 * 4;
    uint start = min(group.x * part, n);
    uint length = min(part, n - start);
    float sum = team.sum_of(x + start, z + start, length, Product());
    if (index == 0) partials[group.x] = sum;
}

kernel void dot_product_f32(device const float *partials [[buffer(0)]],
                            device float *y [[buffer(1)]],
                            constant uint &groups [[buffer(2)]],
                            TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    float sum = team.sum_of(partials, groups, Identity());
    if (index == 0) y[0] = sum;
}
