// Logarithm of a sum of exponentials of every row, by powers of two.
#include <metal_stdlib>
using namespace metal;

kernel void logsumexp(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    uint at = row * columns;
    float most = -INFINITY;
    for (uint c = 0; c < columns; ++c) most = fmax(most, x[at + c] * 1.44269504f);
    float sum = 0;
    uint c = 0;
    while (c < columns) {
        sum += exp2(x[at + c] * 1.44269504f - most);
        ++c;
    }
    y[row] = (most + log2(sum)) * 0.69314718f;
}

// assay: launch logsumexp --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
