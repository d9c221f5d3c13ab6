// Mean of each window of lines, channels last: a thread per element, neighbours in a simdgroup on neighbouring
// channels.
#include <metal_stdlib>
using namespace metal;

kernel void avg_pool1d_f32(device const float *x [[buffer(0)]],
                           device float *y [[buffer(1)]],
                           constant uint &batch [[buffer(2)]],
                           constant uint &length [[buffer(3)]],
                           constant uint &channels [[buffer(4)]],
                           constant uint &window [[buffer(5)]],
                           constant uint &stride [[buffer(6)]],
                           uint2 at [[thread_position_in_grid]]) {
    uint place = at.y;
    uint out_length = (length - window) / stride + 1;
    uint length0 = place % out_length * stride;
    uint image = place / out_length;
    if (image >= batch) return;
    float sum = 0.0f;
    for (uint i = 0; i < window; ++i) {
        sum += x[(image * length + length0 + i) * channels + at.x];
    }
    y[place * channels + at.x] = sum / float(window);
}
