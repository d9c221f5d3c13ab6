// Logarithm of a sum of exponentials of every row: the sum is corrected only where the largest grows.
#include <metal_stdlib>
using namespace metal;

kernel void logsumexp(device float *y, device const float *x, constant uint &rows, constant uint &columns, uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float most = x[row * columns], sum = 1;
    for (uint c = 1; c < columns; c++) {
        float value = x[row * columns + c];
        if (value > most) {
            sum = sum * exp(most - value) + 1.0f;
            most = value;
        } else {
            sum += exp(value - most);
        }
    }
    y[row] = most + log(sum);
}

// assay: launch logsumexp --size R=1024 --size C=1024 --grid R --threadgroup 64 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
