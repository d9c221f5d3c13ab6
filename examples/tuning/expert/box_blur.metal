// Mean of a window: a tile in threadgroup memory, summed along rows, then along columns.
#include <metal_stdlib>
using namespace metal;

constant int radius = 4;


kernel void box_blur(device float *y, device const float *x, constant int &height, constant int &width,
                     uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float tile[16][40], along[16][32];
    int left = int(group.x) * 32, top = int(group.y) * 8;
    for (int r = at.y; r < 16; r += 8) {
        for (int c = at.x; c < 40; c += 32) {
            int row = top + r - radius, column = left + c - radius;
            bool inside = row >= 0 && row < height && column >= 0 && column < width;
            tile[r][c] = inside ? x[row * width + column] : 0.0f;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int r = at.y; r < 16; r += 8) {
        float sum = 0;
        for (int i = 0; i <= 2 * radius; i++) sum += tile[r][int(at.x) + i];
        along[r][at.x] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    int row = top + int(at.y), column = left + int(at.x);
    if (row >= height || column >= width) return;
    float sum = 0;
    for (int i = 0; i <= 2 * radius; i++) sum += along[int(at.y) + i][at.x];
    int wide = min(column + radius, width - 1) - max(column - radius, 0) + 1;
    int high = min(row + radius, height - 1) - max(row - radius, 0) + 1;
    y[row * width + column] = sum / float(wide * high);
}

// assay: launch box_blur --size H=512 --size W=512 --groups ceil_div(W,32),ceil_div(H,8) --threadgroup 32,8 --arg y=zeros:f32:H*W --arg x=random:f32:H*W --arg height=H --arg width=W
