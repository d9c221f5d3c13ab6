// Softmax of every row after a mask of 0 and minus infinity is added.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

struct Masked {
    float shift, factor;
    float operator()(float x, float mask) const { return exp(x + mask - shift) * factor; }
};

template <typename T>
kernel void masked_softmax(device const T *x [[buffer(0)]],
                           device const T *mask [[buffer(1)]],
                           device T *y [[buffer(2)]],
                           constant uint &cols [[buffer(3)]],
                           TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    y += group.y * cols;
    mask += group.y * cols;
    float shift = -INFINITY;
    for (uint i = index; i < cols; i += team.count) shift = max(shift, float(x[i]) + float(mask[i]));
    shift = team.largest(shift);
    float sum = team.sum_of(x, mask, cols, Masked{shift, 1.0f});
    team.each(x, mask, y, cols, Masked{shift, 1.0f / sum});
}

template [[host_name("masked_softmax_f32")]] kernel void masked_softmax<float>(
    device const float *, device const float *, device float *, constant uint &, TEAM_TYPES);
template [[host_name("masked_softmax_f16")]] kernel void masked_softmax<half>(
    device const half *, device const half *, device half *, constant uint &, TEAM_TYPES);
template [[host_name("masked_softmax_bf16")]] kernel void masked_softmax<bfloat>(
    device const bfloat *, device const bfloat *, device bfloat *, constant uint &, TEAM_TYPES);
