// A row for each threadgroup, a contiguous chunk for each thread. Wrong, and slow.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void rmsnorm(device const half *x [[buffer(0)]],
                    device const half *w [[buffer(1)]],
                    device half *y [[buffer(2)]],
                    constant uint &D [[buffer(3)]],
                    constant float &eps [[buffer(4)]],
                    uint row [[threadgroup_position_in_grid]],
                    uint tid [[thread_position_in_threadgroup]],
                    uint tg [[threads_per_threadgroup]]) {
    threadgroup float partial[256];
    uint chunk = D / tg;
    uint start = tid * chunk;
    float sum = 0;
    for (uint i = start; i < start + chunk; i++) {
        float v = float(x[row * D + i]);
        sum += v * v;
    }
    partial[tid] = sum;
    for (uint s = tg / 2; s > 0; s /= 2) {
        if (tid < s) {
            partial[tid] += partial[tid + s];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    float inv = rsqrt(partial[0] / tg + eps);
    for (uint i = start; i < start + chunk; i++) {
        y[row * D + i] = half(float(x[row * D + i]) * inv * float(w[i]));
    }
}
