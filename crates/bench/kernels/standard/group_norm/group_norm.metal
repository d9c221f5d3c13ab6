// Groups of channels of every image shifted and scaled to mean 0 and variance 1, channels first: a threadgroup
// per group of neighbours.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

template <typename T>
kernel void group_norm(device const T *x [[buffer(0)]],
                       device T *y [[buffer(1)]],
                       constant uint &batch [[buffer(2)]],
                       constant uint &channels [[buffer(3)]],
                       constant uint &height [[buffer(4)]],
                       constant uint &width [[buffer(5)]],
                       constant uint &groups [[buffer(6)]],
                       constant float &eps [[buffer(7)]],
                       TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    uint length = channels / groups * height * width;
    if (group.y >= batch * groups) return;
    x += group.y * length;
    y += group.y * length;
    float mean = team.sum_of(x, length, Identity()) / float(length);
    float variance = team.sum_of(x, length, SquareOfDifference{mean}) / float(length);
    team.each(x, y, length, ShiftAndScale{mean, rsqrt(variance + eps)});
}

template [[host_name("group_norm_f32")]] kernel void group_norm<float>(
    device const float *, device float *, constant uint &, constant uint &, constant uint &, constant uint &, constant uint &, constant float &, TEAM_TYPES);
template [[host_name("group_norm_f16")]] kernel void group_norm<half>(
    device const half *, device half *, constant uint &, constant uint &, constant uint &, constant uint &, constant uint &, constant float &, TEAM_TYPES);
template [[host_name("group_norm_bf16")]] kernel void group_norm<bfloat>(
    device const bfloat *, device bfloat *, constant uint &, constant uint &, constant uint &, constant uint &, constant uint &, constant float &, TEAM_TYPES);
