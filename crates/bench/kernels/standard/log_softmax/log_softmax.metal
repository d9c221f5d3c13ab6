// Logarithm of the softmax of every row.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

// The shift may be large and the logarithm small, so they must not be added up first, which fast math would do.
struct LogSoftmax {
    float shift, total;
    float operator()(float x) const {
#pragma clang fp reassociate(off)
        return (x - shift) - total;
    }
};

template <typename T>
kernel void log_softmax(device const T *x [[buffer(0)]],
                        device T *y [[buffer(1)]],
                        constant uint &cols [[buffer(2)]],
                        TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    y += group.y * cols;
    float shift = team.largest_of(x, cols);
    float sum = team.sum_of(x, cols, ShiftedExponential{shift});
    team.each(x, y, cols, LogSoftmax{shift, log(sum)});
}

template [[host_name("log_softmax_f32")]] kernel void log_softmax<float>(
    device const float *, device float *, constant uint &, TEAM_TYPES);
template [[host_name("log_softmax_f16")]] kernel void log_softmax<half>(
    device const half *, device half *, constant uint &, TEAM_TYPES);
template [[host_name("log_softmax_bf16")]] kernel void log_softmax<bfloat>(
    device const bfloat *, device bfloat *, constant uint &, TEAM_TYPES);
