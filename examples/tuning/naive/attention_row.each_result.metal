// Attention of one head: a thread a result, each makes all scores for itself.
#include <metal_stdlib>
using namespace metal;

constant uint dim = 64;

kernel void attention_row(device float *y, device const float *q, device const float *k, device const float *v, constant uint &tokens, uint2 at [[thread_position_in_grid]]) {
    device const float *query = q + at.y * dim;
    float most = -INFINITY;
    for (uint t = 0; t < tokens; t++) {
        float score = 0;
        for (uint d = 0; d < dim; d++) score += query[d] * k[t * dim + d];
        most = max(most, score * 0.125f);
    }
    float total = 0, sum = 0;
    for (uint t = 0; t < tokens; t++) {
        float score = 0;
        for (uint d = 0; d < dim; d++) score += query[d] * k[t * dim + d];
        float weight = exp(score * 0.125f - most);
        total += weight;
        sum += weight * v[t * dim + at.x];
    }
    y[at.y * dim + at.x] = sum / total;
}

// assay: launch attention_row --size Q=256 --size T=256 --grid 64,Q --threadgroup 64,1 --arg y=zeros:f32:Q*64 --arg q=random:f32:Q*64 --arg k=random:f32:T*64 --arg v=random:f32:T*64 --arg tokens=T
