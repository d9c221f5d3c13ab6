// A row for each threadgroup, a contiguous chunk for each thread. Right, and slow.
// assay: launch rmsnorm --size R=1024 --size D=1024 --groups R --threadgroup 256 --arg x=random:R*D --arg w=random:D --arg y=zeros:R*D --arg D=D --arg eps=1e-5
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
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = tg / 2; s > 0; s /= 2) {
        if (tid < s) {
            partial[tid] += partial[tid + s];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    float inv = rsqrt(partial[0] / D + eps);
    for (uint i = start; i < start + chunk; i++) {
        y[row * D + i] = half(float(x[row * D + i]) * inv * float(w[i]));
    }
}
