// Kernels as users write them: a row a thread, or a threadgroup's reduction.
#include <metal_stdlib>
using namespace metal;

kernel void row_sum(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &n [[buffer(2)]],
                    uint r [[thread_position_in_grid]]) {
    float sum = 0.0f;
    for (uint i = 0; i < n; ++i)
        sum += x[r * n + i];
    y[r] = sum;
}

kernel void softmax_row(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                        constant uint &n [[buffer(2)]], uint r [[thread_position_in_grid]]) {
    float most = -INFINITY;
    for (uint i = 0; i < n; ++i)
        most = max(most, x[r * n + i]);
    float sum = 0.0f;
    for (uint i = 0; i < n; ++i)
        sum += exp(x[r * n + i] - most);
    for (uint i = 0; i < n; ++i)
        y[r * n + i] = exp(x[r * n + i] - most) / sum;
}

kernel void rms_norm(device const float *x [[buffer(0)]], device const float *weight [[buffer(1)]],
                     device float *y [[buffer(2)]], constant uint &n [[buffer(3)]], constant float &eps [[buffer(4)]],
                     uint r [[thread_position_in_grid]]) {
    float sum = 0.0f;
    for (uint i = 0; i < n; ++i)
        sum += x[r * n + i] * x[r * n + i];
    float scale = rsqrt(sum / float(n) + eps);
    for (uint i = 0; i < n; ++i)
        y[r * n + i] = x[r * n + i] * scale * weight[i];
}

kernel void argmax_row(device const float *x [[buffer(0)]], device uint *y [[buffer(1)]], constant uint &n [[buffer(2)]],
                       uint r [[thread_position_in_grid]]) {
    uint best = 0;
    for (uint i = 1; i < n; ++i)
        if (x[r * n + i] > x[r * n + best])
            best = i;
    y[r] = best;
}

kernel void prefix_sum(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &n [[buffer(2)]],
                       uint r [[thread_position_in_grid]]) {
    float sum = 0.0f;
    for (uint i = 0; i < n; ++i) {
        sum += x[r * n + i];
        y[r * n + i] = sum;
    }
}

kernel void group_sum(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                      threadgroup float *shared [[threadgroup(0)]], constant uint &n [[buffer(2)]],
                      uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
                      uint g [[threadgroup_position_in_grid]], uint w [[threads_per_threadgroup]]) {
    shared[l] = i < n ? x[i] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 1; s < w; s *= 2) {
        float other = l + s < w && l % (2 * s) == 0 ? shared[l + s] : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        shared[l] += other;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (l == 0)
        y[g] = shared[0];
}

kernel void histogram(device const uint *x [[buffer(0)]], device atomic_uint *bins [[buffer(1)]],
                      constant uint &n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i >= n)
        return;
    if (x[i] < n)
        atomic_fetch_add_explicit(&bins[x[i]], 1, memory_order_relaxed);
}
