// Every row shifted and scaled to mean 0 and variance 1.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

template <typename T>
kernel void layer_norm(device const T *x [[buffer(0)]],
                       device T *y [[buffer(1)]],
                       constant uint &cols [[buffer(2)]],
                       constant float &eps [[buffer(3)]],
                       TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    y += group.y * cols;
    float mean = team.sum_of(x, cols, Identity()) / float(cols);
    float variance = team.sum_of(x, cols, SquareOfDifference{mean}) / float(cols);
    team.each(x, y, cols, ShiftAndScale{mean, rsqrt(variance + eps)});
}

template [[host_name("layer_norm_f32")]] kernel void layer_norm<float>(
    device const float *, device float *, constant uint &, constant float &, TEAM_TYPES);
template [[host_name("layer_norm_f16")]] kernel void layer_norm<half>(
    device const half *, device half *, constant uint &, constant float &, TEAM_TYPES);
template [[host_name("layer_norm_bf16")]] kernel void layer_norm<bfloat>(
    device const bfloat *, device bfloat *, constant uint &, constant float &, TEAM_TYPES);
