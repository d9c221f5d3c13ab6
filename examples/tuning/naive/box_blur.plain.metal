// Mean of the window around every pixel, clipped at the edges.
#include <metal_stdlib>
using namespace metal;

constant int radius = 4;

kernel void box_blur(device float *y, device const float *x, constant int &height, constant int &width, uint2 at [[thread_position_in_grid]]) {
    if (int(at.x) >= width || int(at.y) >= height) return;
    int left = max(int(at.x) - radius, 0), right = min(int(at.x) + radius, width - 1);
    int top = max(int(at.y) - radius, 0), bottom = min(int(at.y) + radius, height - 1);
    float sum = 0;
    for (int r = top; r <= bottom; r++)
        for (int c = left; c <= right; c++) sum += x[r * width + c];
    y[at.y * width + at.x] = sum / float((bottom - top + 1) * (right - left + 1));
}

// assay: launch box_blur --size H=512 --size W=512 --grid W,H --threadgroup 16,16 --arg y=zeros:f32:H*W --arg x=random:f32:H*W --arg height=H --arg width=W
