// A dot product by one threadgroup.
#include <metal_stdlib>
using namespace metal;

kernel void dots(device float *part, device const float *a, device const float *b, constant uint &n, // fault: too-few-threadgroups
                 uint tid [[thread_position_in_threadgroup]], uint group [[threadgroup_position_in_grid]],
                 uint groups [[threadgroups_per_grid]], uint lane [[thread_index_in_simdgroup]],
                 uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup float held[32];
    uint each = n / groups;
    float sum = 0;
    for (uint k = tid; k < each; k += 256) sum += a[group * each + k] * b[group * each + k];
    sum = simd_sum(sum);
    if (lane == 0) held[sg] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) {
        for (uint k = 1; k < 8; k++) sum += held[k];
        part[group] = sum;
    }
}

// assay: launch dots --size N=1048576 --grid 256 --threadgroup 256 --arg part=zeros:f32:1 --arg a=random:f32:N --arg b=random:f32:N --arg n=N
