// Mean of a window: every neighbour is asked whether it is inside.
#include <metal_stdlib>
using namespace metal;

constant int radius = 4;

kernel void box_blur(device float *y, device const float *x, constant int &height, constant int &width, uint2 at [[thread_position_in_grid]]) {
    if (int(at.x) >= width || int(at.y) >= height) return;
    float sum = 0, count = 0;
    for (int dy = -radius; dy <= radius; dy++) {
        for (int dx = -radius; dx <= radius; dx++) {
            int r = int(at.y) + dy, c = int(at.x) + dx;
            if (r < 0 || c < 0 || r >= height || c >= width) continue;
            sum += x[r * width + c];
            count += 1;
        }
    }
    y[at.y * width + at.x] = sum / count;
}

// assay: launch box_blur --size H=512 --size W=512 --grid W,H --threadgroup 16,16 --arg y=zeros:f32:H*W --arg x=random:f32:H*W --arg height=H --arg width=W
