// The k largest of up to 1024 values, in order, by repeated selection within a simdgroup.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void top_k(device float *values [[buffer(0)]],
                  device uint *indices [[buffer(1)]],
                  device const float *x [[buffer(2)]],
                  constant uint &n [[buffer(3)]],
                  constant uint &k [[buffer(4)]],
                  uint lane [[thread_index_in_simdgroup]],
                  uint row [[threadgroup_position_in_grid]]) {
    uint taken = 0;
    for (uint round = 0; round < k; ++round) {
        float best = -INFINITY;
        uint where = 0xffffffffu;
        for (uint slot = 0, i = lane; i < n; ++slot, i += 32) {
            float v = x[row * n + i];
            if (!((taken >> slot) & 1u) && v > best) {
                best = v;
                where = i;
            }
        }
        float top = simd_max(best);
        uint winner = simd_min(best == top ? where : 0xffffffffu);
        if (winner % 32 == lane) taken |= 1u << (winner / 32);
        if (lane == 0) {
            values[row * k + round] = top;
            indices[row * k + round] = winner;
        }
    }
}
