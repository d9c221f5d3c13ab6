// Every row divided by the root of its mean square.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

template <typename T>
kernel void rms_norm(device const T *x [[buffer(0)]],
                     device T *y [[buffer(1)]],
                     constant uint &cols [[buffer(2)]],
                     constant float &eps [[buffer(3)]],
                     TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    y += group.y * cols;
    float square = team.sum_of(x, cols, Square()) / float(cols);
    team.each(x, y, cols, ShiftAndScale{0.0f, rsqrt(square + eps)});
}

template [[host_name("rms_norm_f32")]] kernel void rms_norm<float>(
    device const float *, device float *, constant uint &, constant float &, TEAM_TYPES);
template [[host_name("rms_norm_f16")]] kernel void rms_norm<half>(
    device const half *, device half *, constant uint &, constant float &, TEAM_TYPES);
template [[host_name("rms_norm_bf16")]] kernel void rms_norm<bfloat>(
    device const bfloat *, device bfloat *, constant uint &, constant float &, TEAM_TYPES);
