// Attention of one head: a thread a query, one pass that corrects what it has.
#include <metal_stdlib>
using namespace metal;

constant uint dim = 64;

kernel void attention_row(device float *y, device const float *q, device const float *k, device const float *v, constant uint &tokens, uint row [[thread_position_in_grid]]) {
    float most = -INFINITY, total = 0, part[dim];
    for (uint d = 0; d < dim; d++) part[d] = 0;
    for (uint t = 0; t < tokens; t++) {
        float score = 0;
        for (uint d = 0; d < dim; d++) score += q[row * dim + d] * k[t * dim + d];
        score *= 0.125f;
        float next = max(most, score), old = exp(most - next), weight = exp(score - next);
        total = total * old + weight;
        for (uint d = 0; d < dim; d++) part[d] = part[d] * old + weight * v[t * dim + d];
        most = next;
    }
    for (uint d = 0; d < dim; d++) y[row * dim + d] = part[d] / total;
}

// assay: launch attention_row --size Q=256 --size T=256 --grid Q --threadgroup 64 --arg y=zeros:f32:Q*64 --arg q=random:f32:Q*64 --arg k=random:f32:T*64 --arg v=random:f32:T*64 --arg tokens=T
