// Weights of attention: softmax(q k^T / sqrt(size)). A threadgroup per query, a simdgroup per key; the scores of a row
// pass through the output.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

struct Weight {
    float shift, factor;
    float operator()(float x) const { return exp(x - shift) * factor; }
};

kernel void attention_scores_f32(device const float *q [[buffer(0)]],
                                 device const float *k [[buffer(1)]],
                                 device float *y [[buffer(2)]],
                                 constant uint &rows [[buffer(3)]],
                                 constant uint &size [[buffer(4)]],
                                 TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    q += group.y * size;
    y += group.y * rows;
    float scale = rsqrt(float(size));
    float largest = -INFINITY;
    for (uint key = simdgroup; key < rows; key += simdgroups) {
        float product = 0.0f;
        for (uint e = lane; e < size; e += 32) product += q[e] * k[key * size + e];
        product = simd_sum(product) * scale;
        largest = max(largest, product);
        if (lane == 0) y[key] = product;
    }
    largest = team.largest(largest);
    threadgroup_barrier(mem_flags::mem_device);
    float sum = team.sum_of((device const float *)y, rows, ShiftedExponential{largest});
    team.each((device const float *)y, y, rows, Weight{largest, 1.0f / sum});
}
