// Variance of every row: pointers walk along twice.
#include <metal_stdlib>
using namespace metal;

kernel void variance(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    device const float *from = x + row * columns;
    device const float *end = from + columns;
    float mean = 0;
    for (device const float *p = from; p < end; p++) mean += *p;
    mean /= float(columns);
    float squares = 0;
    do {
        squares += (*from - mean) * (*from - mean);
        from++;
    } while (from < end);
    y[row] = squares / float(columns);
}

// assay: launch variance --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
