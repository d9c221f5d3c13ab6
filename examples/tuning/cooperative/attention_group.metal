// Attention of one query a threadgroup: scores in threadgroup memory, the first thread makes weights of them.
#include <metal_stdlib>
using namespace metal;

kernel void attention_group(device float *y, device const float *q, device const float *k, device const float *v,
                            constant uint &tokens, threadgroup float *score [[threadgroup(0)]], uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    for (uint t = tid; t < tokens; t += 64) {
        float sum = 0;
        for (uint d = 0; d < 64; d++) sum += q[row * 64 + d] * k[t * 64 + d];
        score[t] = sum * 0.125f;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) {
        float most = -INFINITY, all = 0;
        for (uint t = 0; t < tokens; t++) most = max(most, score[t]);
        for (uint t = 0; t < tokens; t++) {
            score[t] = exp(score[t] - most);
            all += score[t];
        }
        for (uint t = 0; t < tokens; t++) score[t] /= all;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint t = 0; t < tokens; t++) sum += score[t] * v[t * 64 + tid];
    y[row * 64 + tid] = sum;
}

// assay: launch attention_group --size Q=128 --size T=128 --groups Q --threadgroup 64 --tgmem 0=T*4 --arg y=zeros:f32:Q*64 --arg q=random:f32:Q*64 --arg k=random:f32:T*64 --arg v=random:f32:T*64 --arg tokens=T
