// Mean of a window: what is outside counts nothing, by a choice.
#include <metal_stdlib>
using namespace metal;

constant int radius = 4;

kernel void box_blur(device float *y, device const float *x, constant int &height, constant int &width, uint2 at [[thread_position_in_grid]]) {
    if (int(at.x) >= width || int(at.y) >= height) return;
    float sum = 0;
    int count = 0;
    for (int i = 0; i < (2 * radius + 1) * (2 * radius + 1); i++) {
        int r = int(at.y) + i / (2 * radius + 1) - radius, c = int(at.x) + i % (2 * radius + 1) - radius;
        bool inside = r >= 0 && r < height && c >= 0 && c < width;
        sum += inside ? x[clamp(r, 0, height - 1) * width + clamp(c, 0, width - 1)] : 0.0f;
        count += inside ? 1 : 0;
    }
    y[at.y * width + at.x] = sum / float(count);
}

// assay: launch box_blur --size H=512 --size W=512 --grid W,H --threadgroup 16,16 --arg y=zeros:f32:H*W --arg x=random:f32:H*W --arg height=H --arg width=W
