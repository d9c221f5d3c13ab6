// Estimates pi with a xorshift generator per thread.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void xorshift_mc(device float *o [[buffer(0)]],
                        constant uint &n [[buffer(1)]],
                        constant uint &seed [[buffer(2)]],
                        uint g [[thread_position_in_grid]]) {
    uint s = g * 747796405u + seed;
    uint hit = 0;
    for (uint i = 0; i < n; ++i) {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        float x = float(s & 0xffff) * (1.0f / 65536.0f), y = float(s >> 16) * (1.0f / 65536.0f);
        hit += (x * x + y * y < 1.0f) ? 1u : 0u;
    }
    o[g] = 4.0f * float(hit) / float(n);
}
