// A row of four-bit weights times a vector, per simdgroup.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void gemv_q4(device float *y [[buffer(0)]],
                    device const uint *q [[buffer(1)]],
                    device const half *sc [[buffer(2)]],
                    device const float *x [[buffer(3)]],
                    constant uint &nblk [[buffer(4)]],
                    uint l [[thread_position_in_threadgroup]],
                    uint r [[threadgroup_position_in_grid]]) {
    float acc = 0.0f;
    for (uint b = l; b < nblk; b += 32) {
        float s = float(sc[r * nblk + b]);
        float t = 0.0f;
        for (uint w = 0; w < 4; ++w) {
            uint v = q[(r * nblk + b) * 4 + w];
            for (uint e = 0; e < 8; ++e) {
                t = fma(float(int((v >> (4 * e)) & 15u) - 8), x[b * 32 + w * 8 + e], t);
            }
        }
        acc = fma(s, t, acc);
    }
    acc = simd_sum(acc);
    if (l == 0) y[r] = acc;
}
