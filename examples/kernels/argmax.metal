// Index of the largest element; the lowest index wins a tie.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void argmax(device int *o [[buffer(0)]],
                   device const float *x [[buffer(1)]],
                   constant uint &n [[buffer(2)]],
                   uint l [[thread_position_in_threadgroup]]) {
    threadgroup float sv[128];
    threadgroup int si[128];
    float bv = -INFINITY;
    int bi = 0;
    for (uint i = l; i < n; i += 128) {
        float v = x[i];
        if (v > bv) {
            bv = v;
            bi = i;
        }
    }
    sv[l] = bv;
    si[l] = bi;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 64; d; d >>= 1) {
        if (l < d && (sv[l + d] > sv[l] || (sv[l + d] == sv[l] && si[l + d] < si[l]))) {
            sv[l] = sv[l + d];
            si[l] = si[l + d];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (l == 0) o[0] = si[0];
}
