// Exponentials of every row, divided by their sum.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

struct Softmax {
    float shift, factor;
    float operator()(float x) const { return exp(x - shift) * factor; }
};

template <typename T>
kernel void softmax(device const T *x [[buffer(0)]],
                    device T *y [[buffer(1)]],
                    constant uint &cols [[buffer(2)]],
                    TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    y += group.y * cols;
    float shift = team.largest_of(x, cols);
    float sum = team.sum_of(x, cols, ShiftedExponential{shift});
    team.each(x, y, cols, Softmax{shift, 1.0f / sum});
}

template [[host_name("softmax_f32")]] kernel void softmax<float>(
    device const float *, device float *, constant uint &, TEAM_TYPES);
template [[host_name("softmax_f16")]] kernel void softmax<half>(
    device const half *, device half *, constant uint &, TEAM_TYPES);
template [[host_name("softmax_bf16")]] kernel void softmax<bfloat>(
    device const bfloat *, device bfloat *, constant uint &, TEAM_TYPES);
