// Mean of each window of volumes, channels last: a thread per element, neighbours in a simdgroup on neighbouring
// channels.
#include <metal_stdlib>
using namespace metal;

kernel void avg_pool3d_f32(device const float *x [[buffer(0)]],
                           device float *y [[buffer(1)]],
                           constant uint &batch [[buffer(2)]],
                           constant uint &depth [[buffer(3)]],
                           constant uint &height [[buffer(4)]],
                           constant uint &width [[buffer(5)]],
                           constant uint &channels [[buffer(6)]],
                           constant uint &window [[buffer(7)]],
                           constant uint &stride [[buffer(8)]],
                           uint2 at [[thread_position_in_grid]]) {
    uint place = at.y;
    uint out_width = (width - window) / stride + 1;
    uint out_height = (height - window) / stride + 1;
    uint out_depth = (depth - window) / stride + 1;
    uint width0 = place % out_width * stride;
    uint height0 = place / out_width % out_height * stride;
    uint depth0 = place / out_width / out_height % out_depth * stride;
    uint image = place / out_width / out_height / out_depth;
    if (image >= batch) return;
    float sum = 0.0f;
    for (uint i = 0; i < window; ++i) {
        for (uint j = 0; j < window; ++j) {
            for (uint k = 0; k < window; ++k) {
                sum += x[(((image * depth + depth0 + i) * height + height0 + j) * width + width0 + k) * channels + at.x];
            }
        }
    }
    y[place * channels + at.x] = sum / float(window * window * window);
}
