// Sums of 256 long columns, a thread for each.
#include <metal_stdlib>
using namespace metal;

kernel void column_sums(device float *y, device const float *x, constant uint &rows, constant uint &columns, // fault: too-few-threadgroups
                        uint2 at [[thread_position_in_grid]], uint2 all [[threads_per_grid]]) {
    float sum = 0;
    for (uint r = at.y; r < rows; r += all.y) sum += x[r * columns + at.x];
    y[at.y * columns + at.x] = sum;
}

// assay: launch column_sums --size R=16384 --size C=256 --grid C,1 --threadgroup 32,1 --arg y=zeros:f32:C --arg x=random:f32:R*C --arg rows=R --arg columns=C
