// Running sums of blocks of 256: eight steps, two barriers each.
#include <metal_stdlib>
using namespace metal;

kernel void scan_steps(device float *y, device const float *x, uint i [[thread_position_in_grid]],
                       uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float part[256];
    part[tid] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 1; d < 256; d *= 2) {
        float before = tid >= d ? part[tid - d] : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        part[tid] += before;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    y[i] = part[tid];
}

// assay: launch scan_steps --size N=131072 --grid N --threadgroup 256 --arg y=zeros:f32:N --arg x=random:f32:N
