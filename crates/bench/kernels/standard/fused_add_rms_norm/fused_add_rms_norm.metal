// Root-mean-square norm of every row of a sum.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

struct SquareOfSum {
    float operator()(float x, float r) const { return (x + r) * (x + r); }
};
struct ScaledSum {
    float factor;
    float operator()(float x, float r) const { return (x + r) * factor; }
};

template <typename T>
kernel void fused_add_rms_norm(device const T *x [[buffer(0)]],
                               device const T *residual [[buffer(1)]],
                               device T *y [[buffer(2)]],
                               constant uint &cols [[buffer(3)]],
                               constant float &eps [[buffer(4)]],
                               TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    y += group.y * cols;
    residual += group.y * cols;
    float square = team.sum_of(x, residual, cols, SquareOfSum()) / float(cols);
    team.each(x, residual, y, cols, ScaledSum{rsqrt(square + eps)});
}

template [[host_name("fused_add_rms_norm_f32")]] kernel void fused_add_rms_norm<float>(
    device const float *, device const float *, device float *, constant uint &, constant float &, TEAM_TYPES);
template [[host_name("fused_add_rms_norm_f16")]] kernel void fused_add_rms_norm<half>(
    device const half *, device const half *, device half *, constant uint &, constant float &, TEAM_TYPES);
template [[host_name("fused_add_rms_norm_bf16")]] kernel void fused_add_rms_norm<bfloat>(
    device const bfloat *, device const bfloat *, device bfloat *, constant uint &, constant float &, TEAM_TYPES);
