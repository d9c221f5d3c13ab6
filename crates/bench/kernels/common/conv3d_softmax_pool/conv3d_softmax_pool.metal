// Convolution of volumes, softmax over the filters, then twice the largest of 2 x 2 x 2. Twice the largest of 2
// is once the largest of 4.
#include <metal_stdlib>
using namespace metal;
#include "convolution.h"
#include "tile.h"

kernel void conv3d_softmax_pool_convolve_f32(device const float *x [[buffer(0)]],
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

// A simdgroup per place of the output; a lane keeps up to PARTS filters, so there are up to 256.
constant constexpr uint PARTS = 8;

kernel void conv3d_softmax_pool_f32(device const float *convolved [[buffer(0)]],
                                    device float *y [[buffer(1)]],
                                    constant uint &batch [[buffer(2)]],
                                    constant uint &depth [[buffer(3)]],
                                    constant uint &height [[buffer(4)]],
                                    constant uint &width [[buffer(5)]],
                                    constant uint &filters [[buffer(6)]],
                                    uint position [[thread_position_in_grid]],
                                    uint lane [[thread_index_in_simdgroup]]) {
    uint place = position / 32;
    uint out_width = width / 4, out_height = height / 4, out_depth = depth / 4;
    uint column = place % out_width * 4, row = place / out_width % out_height * 4;
    uint level = place / (out_width * out_height) % out_depth * 4, image = place / (out_width * out_height * out_depth);
    if (image >= batch) return;
    float best[PARTS];
    for (uint j = 0; j < PARTS; ++j) best[j] = 0.0f;
    for (uint i = 0; i < 64; ++i) {
        uint from = ((image * depth + level + i / 16) * height + row + i / 4 % 4) * width + column + i % 4;
        device const float *pixel = convolved + from * filters;
        float largest = -INFINITY, sum = 0.0f;
        for (uint f = lane; f < filters; f += 32) largest = max(largest, pixel[f]);
        largest = simd_max(largest);
        for (uint f = lane; f < filters; f += 32) sum += exp(pixel[f] - largest);
        float factor = 1.0f / simd_sum(sum);
        for (uint j = 0; j < PARTS; ++j) {
            uint f = lane + 32 * j;
            if (f < filters) best[j] = max(best[j], exp(pixel[f] - largest) * factor);
        }
    }
    for (uint j = 0; j < PARTS; ++j) {
        uint f = lane + 32 * j;
        if (f < filters) y[place * filters + f] = best[j];
    }
}
