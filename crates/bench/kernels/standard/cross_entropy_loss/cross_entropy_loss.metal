// Cross entropy of every row of logits with a one-hot target.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

struct PickedLogit {
    float shift;
    float operator()(float logit, float target) const { return target * (logit - shift); }
};

kernel void cross_entropy_loss_f32(device const float *logits [[buffer(0)]],
                                   device const float *target [[buffer(1)]],
                                   device float *y [[buffer(2)]],
                                   constant uint &rows [[buffer(3)]],
                                   constant uint &cols [[buffer(4)]],
                                   TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    logits += group.y * cols;
    target += group.y * cols;
    float shift = team.largest_of(logits, cols);
    float sum = team.sum_of(logits, cols, ShiftedExponential{shift});
    float picked = team.sum_of(logits, target, cols, PickedLogit{shift});
    float weight = team.sum_of(target, cols, Identity());
    if (index == 0) y[group.y] = weight * log(sum) - picked;
}
