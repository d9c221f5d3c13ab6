// One query row per simdgroup, head size 32, with the running-maximum softmax.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void attention_row(device float *o [[buffer(0)]],
                          device const float *q [[buffer(1)]],
                          device const float *k [[buffer(2)]],
                          device const float *v [[buffer(3)]],
                          constant uint &n [[buffer(4)]],
                          constant float &scale [[buffer(5)]],
                          uint d [[thread_position_in_threadgroup]],
                          uint r [[threadgroup_position_in_grid]]) {
    float qd = q[r * 32 + d], m = -INFINITY, l = 0.0f, acc = 0.0f;
    for (uint j = 0; j < n; ++j) {
        float s = simd_sum(qd * k[j * 32 + d]) * scale;
        float next = fmax(m, s);
        float c = fast::exp2((m - next) * 1.442695f), p = fast::exp2((s - next) * 1.442695f);
        l = l * c + p;
        acc = acc * c + p * v[j * 32 + d];
        m = next;
    }
    o[r * 32 + d] = acc / l;
}
