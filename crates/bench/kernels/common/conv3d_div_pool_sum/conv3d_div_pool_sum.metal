// Convolution of volumes, divided, largest filter, mean over the volume, plus a number, sum over the batch.
// Each place is divided after the mean: dividing by a positive number changes neither the largest nor the mean.
#include <metal_stdlib>
using namespace metal;
#include "convolution.h"
#include "team.h"
#include "tile.h"

kernel void conv3d_div_pool_sum_convolve_f32(device const float *x [[buffer(0)]],
                                             device const float *w [[buffer(1)]],
                                             device float *convolved [[buffer(2)]],
                                             constant uint &batch [[buffer(3)]],
                                             constant uint &channels [[buffer(4)]],
                                             constant uint &depth [[buffer(5)]],
                                             constant uint &height [[buffer(6)]],
                                             constant uint &width [[buffer(7)]],
                                             constant uint &filters [[buffer(8)]],
                                             constant uint &window [[buffer(9)]],
                                             TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    Convolution c = convolution_3d(depth, height, width, channels, window, 1);
    multiply_tile(batch * places(c), filters, taps(c), group.xy, index, lane, simdgroup, memory,
                  Patches{x, c}, Transposed<float>{w, taps(c)}, StoreMatrix<float, Same>{convolved, filters, Same()});
}

// The sum of the largest filters of every so-manieth place.
kernel void conv3d_div_pool_sum_partial_f32(device const float *convolved [[buffer(0)]],
                                            device float *partials [[buffer(1)]],
                                            constant uint &count [[buffer(2)]],
                                            constant uint &filters [[buffer(3)]],
                                            constant uint &groups [[buffer(4)]],
                                            TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    float sum = 0.0f;
    for (uint place = group.x * simdgroups + simdgroup; place < count; place += groups * simdgroups) {
        float largest = -INFINITY;
        for (uint f = lane; f < filters; f += 32) largest = max(largest, convolved[place * filters + f]);
        largest = simd_max(largest);
        if (lane == 0) sum += largest;
    }
    sum = team.sum(sum);
    if (index == 0) partials[group.x] = sum;
}

kernel void conv3d_div_pool_sum_f32(device const float *partials [[buffer(0)]],
                                    device float *y [[buffer(1)]],
                                    constant uint &groups [[buffer(2)]],
                                    constant uint &pixels [[buffer(3)]],
                                    constant uint &batch [[buffer(4)]],
                                    constant float &divisor [[buffer(5)]],
                                    constant float &bias [[buffer(6)]],
                                    TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    float sum = team.sum_of(partials, groups, Identity());
    if (index == 0) y[0] = sum / (divisor * float(pixels)) + bias * float(batch);
}
