// Logarithm of a sum of exponentials of every row: a simdgroup a row, one pass a lane.
#include <metal_stdlib>
using namespace metal;

kernel void logsumexp(device float *y, device const float *x, constant uint &rows, constant uint &columns,
                      uint thread_ [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint row = thread_ / 32;
    if (row >= rows) return;
    device const float *from = x + row * columns;
    float most = -INFINITY;
    for (uint c = lane; c < columns; c += 32) most = max(most, from[c]);
    most = simd_max(most);
    float sum = 0;
    for (uint c = lane; c < columns; c += 32) sum += exp(from[c] - most);
    sum = simd_sum(sum);
    if (lane == 0) y[row] = most + log(sum);
}

// assay: launch logsumexp --size R=1024 --size C=1024 --grid R*32 --threadgroup 256 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg rows=R --arg columns=C
