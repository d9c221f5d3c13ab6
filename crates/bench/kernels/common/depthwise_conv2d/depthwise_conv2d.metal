// Convolution of images, every channel with its own filter: a thread per element, neighbours in a simdgroup on
// neighbouring channels.
#include <metal_stdlib>
using namespace metal;

kernel void depthwise_conv2d_f32(device const float *x [[buffer(0)]],
                                 device const float *w [[buffer(1)]],
                                 device float *y [[buffer(2)]],
                                 constant uint &batch [[buffer(3)]],
                                 constant uint &channels [[buffer(4)]],
                                 constant uint &height [[buffer(5)]],
                                 constant uint &width [[buffer(6)]],
                                 constant uint &window_height [[buffer(7)]],
                                 constant uint &window_width [[buffer(8)]],
                                 constant uint &stride [[buffer(9)]],
                                 uint2 at [[thread_position_in_grid]]) {
    uint out_height = (height - window_height) / stride + 1, out_width = (width - window_width) / stride + 1;
    uint channel = at.x, place = at.y;
    uint column = place % out_width, row = place / out_width % out_height, image = place / (out_width * out_height);
    if (image >= batch) return;
    float sum = 0.0f;
    for (uint i = 0; i < window_height; ++i) {
        for (uint j = 0; j < window_width; ++j) {
            uint from = (image * height + row * stride + i) * width + column * stride + j;
            sum += x[from * channels + channel] * w[(channel * window_height + i) * window_width + j];
        }
    }
    y[place * channels + channel] = sum;
}
