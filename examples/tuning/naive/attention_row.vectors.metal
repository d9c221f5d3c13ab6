// Attention of one head: a thread a query, four numbers at a time.
#include <metal_stdlib>
using namespace metal;

constant uint dim = 64;

kernel void attention_row(device float *y, device const float *q, device const float *k, device const float *v, constant uint &tokens, uint row [[thread_position_in_grid]]) {
    device const float4 *query = (device const float4 *)(q + row * dim);
    float most = -INFINITY;
    for (uint t = 0; t < tokens; t++) {
        device const float4 *key = (device const float4 *)(k + t * dim);
        float score = 0;
        for (uint d = 0; d < dim / 4; d++) score += dot(query[d], key[d]);
        most = max(most, score * 0.125f);
    }
    float total = 0;
    float4 part[dim / 4];
    for (uint d = 0; d < dim / 4; d++) part[d] = 0;
    for (uint t = 0; t < tokens; t++) {
        device const float4 *key = (device const float4 *)(k + t * dim);
        device const float4 *value = (device const float4 *)(v + t * dim);
        float score = 0;
        for (uint d = 0; d < dim / 4; d++) score += dot(query[d], key[d]);
        float weight = exp(score * 0.125f - most);
        total += weight;
        for (uint d = 0; d < dim / 4; d++) part[d] += weight * value[d];
    }
    for (uint d = 0; d < dim / 4; d++) ((device float4 *)(y + row * dim))[d] = part[d] / total;
}

// assay: launch attention_row --size Q=256 --size T=256 --grid Q --threadgroup 64 --arg y=zeros:f32:Q*64 --arg q=random:f32:Q*64 --arg k=random:f32:T*64 --arg v=random:f32:T*64 --arg tokens=T
