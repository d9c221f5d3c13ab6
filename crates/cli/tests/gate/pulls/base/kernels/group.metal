#include <metal_stdlib>
using namespace metal;
// assay: launch group_sum --size N=256 --grid N --threadgroup 64 --buffer 0=random:f32:N --buffer 1=zeros:f32:N
kernel void group_sum(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                      uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
                      uint g [[threadgroup_position_in_grid]]) {
    threadgroup float shared[64];
    shared[l] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 32; s > 0; s /= 2) {
        if (l < s)
            shared[l] += shared[l + s];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (l == 0)
        y[g] = shared[0];
}
