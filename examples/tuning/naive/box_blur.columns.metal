// Mean of a window, summed column by column; neighbouring threads stand below each other.
#include <metal_stdlib>
using namespace metal;

constant int radius = 4;

kernel void box_blur(device float *y, device const float *x, constant int &height, constant int &width, uint2 at [[thread_position_in_grid]]) {
    int row = at.x, column = at.y;
    if (row >= height || column >= width) return;
    int count = 0;
    float sum = 0;
    int c = column < radius ? 0 : column - radius;
    while (c < width && c <= column + radius) {
        int r = row < radius ? 0 : row - radius;
        while (r < height && r <= row + radius) {
            sum += x[r * width + c];
            count++;
            r++;
        }
        c++;
    }
    y[row * width + column] = sum / float(count);
}

// assay: launch box_blur --size H=512 --size W=512 --grid H,W --threadgroup 16,16 --arg y=zeros:f32:H*W --arg x=random:f32:H*W --arg height=H --arg width=W
