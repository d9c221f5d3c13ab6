// Sum of every column: 32 columns a threadgroup, sixteen simdgroups walk down together.
#include <metal_stdlib>
using namespace metal;

kernel void column_sum(device float *y, device const float *x, constant uint &rows, constant uint &columns,
                       uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float part[16][32];
    uint column = group.x * 32 + at.x;
    float a = 0, b = 0;
    if (column < columns) {
        uint r = at.y;
        for (; r + 16 < rows; r += 32) {
            a += x[r * columns + column];
            b += x[(r + 16) * columns + column];
        }
        if (r < rows) a += x[r * columns + column];
    }
    part[at.y][at.x] = a + b;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (at.y == 0 && column < columns) {
        float sum = 0;
        for (uint i = 0; i < 16; i++) sum += part[i][at.x];
        y[column] = sum;
    }
}

// assay: launch column_sum --size R=2048 --size C=512 --groups ceil_div(C,32) --threadgroup 32,16 --arg y=zeros:f32:C --arg x=random:f32:R*C --arg rows=R --arg columns=C
