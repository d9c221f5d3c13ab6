// Work that is the same for every thread: it belongs in the constant program.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void uniform_math(device float *o [[buffer(0)]],
                         constant float &a [[buffer(1)]],
                         constant float &b [[buffer(2)]],
                         constant uint &n [[buffer(3)]],
                         constant uint &m [[buffer(4)]],
                         uint i [[thread_position_in_grid]]) {
    float k = fast::sqrt(a * a + b * b) + fast::exp2(a) * float(n * m + 3);
    uint off = (n * 17 + m) / 3;
    o[i + off] = k * float(i);
}
