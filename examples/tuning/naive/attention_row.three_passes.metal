// Attention of one head: a thread a query; largest score, sum of weights, then each result.
#include <metal_stdlib>
using namespace metal;

constant uint dim = 64;

kernel void attention_row(device float *y, device const float *q, device const float *k, device const float *v, constant uint &tokens, uint row [[thread_position_in_grid]]) {
    device const float *query = q + row * dim;
    float most = -INFINITY, total = 0;
    for (uint t = 0; t < tokens; ++t) {
        float score = 0;
        for (uint d = 0; d < dim; ++d) score = fma(query[d], k[t * dim + d], score);
        if (score > most) most = score;
    }
    for (uint t = 0; t < tokens; ++t) {
        float score = 0;
        for (uint d = 0; d < dim; ++d) score = fma(query[d], k[t * dim + d], score);
        float weight = exp((score - most) * 0.125f);
        total += weight;
        for (uint d = 0; d < dim; ++d) {
            float had = t == 0 ? 0.0f : y[row * dim + d];
            y[row * dim + d] = had + weight * v[t * dim + d];
        }
    }
    for (uint d = 0; d < dim; ++d) y[row * dim + d] /= total;
}

// assay: launch attention_row --size Q=256 --size T=256 --grid Q --threadgroup 64 --arg y=zeros:f32:Q*64 --arg q=random:f32:Q*64 --arg k=random:f32:T*64 --arg v=random:f32:T*64 --arg tokens=T
