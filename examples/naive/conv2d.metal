// Convolution of one image, channels last: a thread per result.
#include <metal_stdlib>
using namespace metal;

kernel void conv2d(device float *y [[buffer(0)]],
                   device const float *x [[buffer(1)]],
                   device const float *w [[buffer(2)]],
                   constant uint &height [[buffer(3)]],
                   constant uint &width [[buffer(4)]],
                   constant uint &channels [[buffer(5)]],
                   constant uint &filters [[buffer(6)]],
                   uint3 at [[thread_position_in_grid]]) {
    uint rows = height - 2, columns = width - 2;
    if (at.x >= filters || at.y >= columns || at.z >= rows) return;
    float sum = 0;
    for (uint dy = 0; dy < 3; dy++) {
        for (uint dx = 0; dx < 3; dx++) {
            for (uint c = 0; c < channels; c++) {
                sum += x[((at.z + dy) * width + at.y + dx) * channels + c] *
                       w[((dy * 3 + dx) * channels + c) * filters + at.x];
            }
        }
    }
    y[(at.z * columns + at.y) * filters + at.x] = sum;
}

// assay: launch conv2d --size H=66 --size W=66 --size C=64 --size F=64 --grid F,W-2,H-2 --threadgroup 32,4,1 --buffer 0=zeros:f32:(H-2)*(W-2)*F --buffer 1=random:f32:H*W*C --buffer 2=random:f32:9*C*F --bytes 3=u32:H --bytes 4=u32:W --bytes 5=u32:C --bytes 6=u32:F
