// How much further the negative is from the anchor than the positive, short of a margin, of every row.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

struct SquareOfGap {
    float operator()(float x, float z) const { return (x - z) * (x - z); }
};

kernel void triplet_margin_loss_f32(device const float *anchor [[buffer(0)]],
                                    device const float *positive [[buffer(1)]],
                                    device const float *negative [[buffer(2)]],
                                    device float *y [[buffer(3)]],
                                    constant uint &cols [[buffer(4)]],
                                    constant float &margin [[buffer(5)]],
                                    TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    anchor += group.y * cols;
    float near = sqrt(team.sum_of(anchor, positive + group.y * cols, cols, SquareOfGap()));
    float far = sqrt(team.sum_of(anchor, negative + group.y * cols, cols, SquareOfGap()));
    if (index == 0) y[group.y] = max(near - far + margin, 0.0f);
}
