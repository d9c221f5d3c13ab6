// Transposed convolution of volumes plus a number per filter, layer norm over the filters, mean of 2 x 2 x 2, gelu.
#include <metal_stdlib>
using namespace metal;
#include "activation.h"
#include "convolution.h"
#include "tile.h"

kernel void conv_transpose3d_norm_pool_gelu_convolve_f32(device const float *x [[buffer(0)]],
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
    Convolution c = transposed_3d(depth, height, width, channels, window, 1);
    multiply_tile(batch * places(c), filters, taps(c), group.xy, index, lane, simdgroup, memory,
                  SpreadPatches{x, c}, Transposed<float>{w, taps(c)}, StoreMatrix<float, Same>{convolved, filters, Same()});
}

// A simdgroup per place of the output; a lane keeps up to PARTS filters, so there are up to 256.
constant constexpr uint PARTS = 8;

kernel void conv_transpose3d_norm_pool_gelu_f32(device const float *convolved [[buffer(0)]],
                                                device const float *added [[buffer(1)]],
                                                device float *y [[buffer(2)]],
                                                constant uint &batch [[buffer(3)]],
                                                constant uint &depth [[buffer(4)]],
                                                constant uint &height [[buffer(5)]],
                                                constant uint &width [[buffer(6)]],
                                                constant uint &filters [[buffer(7)]],
                                                constant float &eps [[buffer(8)]],
                                                uint position [[thread_position_in_grid]],
                                                uint lane [[thread_index_in_simdgroup]]) {
    uint place = position / 32;
    uint out_width = width / 2, out_height = height / 2, out_depth = depth / 2;
    uint column = place % out_width * 2, row = place / out_width % out_height * 2;
    uint level = place / (out_width * out_height) % out_depth * 2, image = place / (out_width * out_height * out_depth);
    if (image >= batch) return;
    float total[PARTS];
    for (uint j = 0; j < PARTS; ++j) total[j] = 0.0f;
    for (uint i = 0; i < 8; ++i) {
        uint from = ((image * depth + level + i / 4) * height + row + i / 2 % 2) * width + column + i % 2;
        device const float *pixel = convolved + from * filters;
        float sum = 0.0f;
        for (uint f = lane; f < filters; f += 32) sum += pixel[f] + added[f];
        float mean = simd_sum(sum) / float(filters);
        sum = 0.0f;
        for (uint f = lane; f < filters; f += 32) {
            float difference = pixel[f] + added[f] - mean;
            sum += difference * difference;
        }
        float factor = rsqrt(simd_sum(sum) / float(filters) + eps);
        for (uint j = 0; j < PARTS; ++j) {
            uint f = lane + 32 * j;
            if (f < filters) total[j] += (pixel[f] + added[f] - mean) * factor;
        }
    }
    for (uint j = 0; j < PARTS; ++j) {
        uint f = lane + 32 * j;
        if (f < filters) y[place * filters + f] = gelu(total[j] * 0.125f);
    }
}
