// A grid-stride sum, then a tree in threadgroup memory.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void reduce_sum(device float *o [[buffer(0)]],
                       device const float *x [[buffer(1)]],
                       constant uint &n [[buffer(2)]],
                       uint l [[thread_position_in_threadgroup]],
                       uint i0 [[thread_position_in_grid]],
                       uint size [[threads_per_grid]],
                       uint group [[threadgroup_position_in_grid]]) {
    threadgroup float s[128];
    float a = 0.0f;
    for (uint i = i0; i < n; i += size) a += x[i];
    s[l] = a;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 64; d; d >>= 1) {
        if (l < d) s[l] += s[l + d];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (l == 0) o[group] = s[0];
}
