// RMS norm of half rows; every thread walks a contiguous chunk of its row. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void rms_norm_half(device half *y, device const half *x, device const half *w, constant uint &D,
                          uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]],
                          uint TG [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                          uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup float part[32];
    device const half *in = x + row * D;
    float squares = 0;
    for (uint i = tid; i < D; i += TG) {
        float v = float(in[i]);
        squares += v * v;
    }
    squares = simd_sum(squares);
    if (lane == 0) part[sg] = squares;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total = simd_sum(lane < TG / 32 ? part[lane] : 0.0f);
    float scale = rsqrt(total / float(D) + 1e-5f);
    for (uint i = tid; i < D; i += TG)
        y[row * D + i] = half(float(in[i]) * scale * float(w[i]));
}

// assay: launch rms_norm_half --size R=2048 --size D=4096 --grid R*256 --threadgroup 256 --arg y=zeros:f16:R*D --arg x=random:f16:R*D --arg w=random:f16:D --arg D=D
