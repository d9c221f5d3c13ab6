// Softmax of every row: pointers walk along, the sum is inverted.
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    device const float *from = x + row * columns, *end = from + columns;
    float most = -INFINITY;
    for (device const float *p = from; p < end; ++p) most = *p > most ? *p : most;
    float sum = 0;
    for (device const float *p = from; p < end; ++p) sum += exp(*p - most);
    float scale = 1.0f / sum;
    device float *to = y + row * columns;
    for (device const float *p = from; p < end; ++p) *to++ = exp(*p - most) * scale;
}

// assay: launch softmax --size R=1024 --size C=512 --grid R --threadgroup 64 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
