// Logarithm of a sum of exponentials of every row: pointers, and choices for the largest.
#include <metal_stdlib>
using namespace metal;

kernel void logsumexp(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    device const float *from = x + row * columns;
    device const float *p = from;
    float most = *p, sum = 0;
    for (uint left = columns; left > 0; left--, p++) most = most < *p ? *p : most;
    for (p = from; p != from + columns; p++) sum += exp(*p - most);
    y[row] = log(sum) + most;
}

// assay: launch logsumexp --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
