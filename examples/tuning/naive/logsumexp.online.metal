// Logarithm of a sum of exponentials of every row: one pass that corrects the sum.
#include <metal_stdlib>
using namespace metal;

kernel void logsumexp(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float most = -INFINITY, sum = 0;
    for (uint c = 0; c < columns; c++) {
        float value = x[row * columns + c], next = max(most, value);
        sum = sum * exp(most - next) + exp(value - next);
        most = next;
    }
    y[row] = most + log(sum);
}

// assay: launch logsumexp --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
