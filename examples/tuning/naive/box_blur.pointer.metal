// Mean of a window: a pointer walks along each of its rows.
#include <metal_stdlib>
using namespace metal;

constant int radius = 4;

kernel void box_blur(device float *y, device const float *x, constant int &height, constant int &width, uint2 at [[thread_position_in_grid]]) {
    if (int(at.x) >= width || int(at.y) >= height) return;
    int left = max(int(at.x) - radius, 0), right = min(int(at.x) + radius + 1, width);
    int top = max(int(at.y) - radius, 0), bottom = min(int(at.y) + radius + 1, height);
    float sum = 0;
    device const float *line = x + top * width;
    for (int r = bottom - top; r > 0; r--) {
        for (device const float *p = line + left; p < line + right; p++) sum += *p;
        line += width;
    }
    y[at.y * width + at.x] = sum / float((bottom - top) * (right - left));
}

// assay: launch box_blur --size H=512 --size W=512 --grid W,H --threadgroup 16,16 --arg y=zeros:f32:H*W --arg x=random:f32:H*W --arg height=H --arg width=W
