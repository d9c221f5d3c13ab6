// Products of signed bytes, accumulated in int.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void char4_dot(device int *o [[buffer(0)]],
                      device const char4 *a [[buffer(1)]],
                      device const char4 *b [[buffer(2)]],
                      constant uint &n [[buffer(3)]],
                      uint i [[thread_position_in_grid]]) {
    int acc = 0;
    for (uint k = 0; k < n; ++k) {
        char4 p = a[i * n + k], q = b[k];
        acc += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
    }
    o[i] = acc;
}
