// 64-bit products, high and low.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void int64_mulhi(device ulong *o [[buffer(0)]],
                        device const ulong *x [[buffer(1)]],
                        constant ulong &k [[buffer(2)]],
                        uint i [[thread_position_in_grid]]) {
    o[i] = mulhi(x[i], k) ^ (x[i] * k);
}
