// Sums of columns: a tile's threads walk down, its first row adds.
#include <metal_stdlib>
using namespace metal;

kernel void column_group(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float part[16][16];
    uint column = group.x * 16 + at.x;
    float sum = 0;
    for (uint r = at.y; r < rows; r += 16) sum += x[r * columns + column];
    part[at.x][at.y] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (at.y == 0) {
        float all = 0;
        for (uint i = 0; i < 16; i++) all += part[at.x][i];
        y[column] = all;
    }
}

// assay: launch column_group --size R=1024 --size C=512 --groups C/16 --threadgroup 16,16 --arg y=zeros:f32:C --arg x=random:f32:R*C --arg rows=R --arg columns=C
