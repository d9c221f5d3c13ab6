// Attention of one head: a simdgroup a query, two numbers of the head a lane, four keys at a time.
#include <metal_stdlib>
using namespace metal;

kernel void attention_row(device float *y, device const float *q, device const float *k, device const float *v,
                          constant uint &tokens, uint thread_ [[thread_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]]) {
    uint row = thread_ / 32;
    float2 query = ((device const float2 *)(q + row * 64))[lane] * 0.125f;
    float most = -INFINITY, total = 0;
    float2 part = 0;
    for (uint t = 0; t < tokens; t += 4) {
        float score[4];
        float best = most;
        for (uint i = 0; i < 4; i++) {
            uint token = min(t + i, tokens - 1);
            score[i] = simd_sum(dot(query, ((device const float2 *)(k + token * 64))[lane]));
            best = max(best, score[i]);
        }
        float old = exp(most - best);
        total *= old;
        part *= old;
        for (uint i = 0; i < 4; i++) {
            if (t + i >= tokens) break;
            float weight = exp(score[i] - best);
            total += weight;
            part += weight * ((device const float2 *)(v + (t + i) * 64))[lane];
        }
        most = best;
    }
    ((device float2 *)(y + row * 64))[lane] = part / total;
}

// assay: launch attention_row --size Q=256 --size T=256 --grid Q*32 --threadgroup 128 --arg y=zeros:f32:Q*64 --arg q=random:f32:Q*64 --arg k=random:f32:T*64 --arg v=random:f32:T*64 --arg tokens=T
