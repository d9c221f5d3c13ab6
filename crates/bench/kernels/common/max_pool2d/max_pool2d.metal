// Largest number of each window of images, channels last: a thread per element, neighbours in a simdgroup on neighbouring
// channels.
#include <metal_stdlib>
using namespace metal;

kernel void max_pool2d_f32(device const float *x [[buffer(0)]],
                           device float *y [[buffer(1)]],
                           constant uint &batch [[buffer(2)]],
                           constant uint &height [[buffer(3)]],
                           constant uint &width [[buffer(4)]],
                           constant uint &channels [[buffer(5)]],
                           constant uint &window [[buffer(6)]],
                           constant uint &stride [[buffer(7)]],
                           uint2 at [[thread_position_in_grid]]) {
    uint place = at.y;
    uint out_width = (width - window) / stride + 1;
    uint out_height = (height - window) / stride + 1;
    uint width0 = place % out_width * stride;
    uint height0 = place / out_width % out_height * stride;
    uint image = place / out_width / out_height;
    if (image >= batch) return;
    float largest = -INFINITY;
    for (uint i = 0; i < window; ++i) {
        for (uint j = 0; j < window; ++j) {
            largest = max(largest, x[((image * height + height0 + i) * width + width0 + j) * channels + at.x]);
        }
    }
    y[place * channels + at.x] = largest;
}
