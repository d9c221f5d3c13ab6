// Forces between bodies: positions staged 64 at a time.
#include <metal_stdlib>
using namespace metal;

kernel void nbody_tile(device float4 *force, device const float4 *body, constant uint &n,
                       uint i [[thread_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float4 other[64];
    float3 own = body[i].xyz, sum = 0;
    for (uint first = 0; first < n; first += 64) {
        other[tid] = body[first + tid];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < 64; k++) {
            float3 d = other[k].xyz - own;
            float by = rsqrt(dot(d, d) + 0.01f);
            sum += d * (other[k].w * by * by * by);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    force[i] = float4(sum, 0.0f);
}

// assay: launch nbody_tile --size N=1024 --grid N --threadgroup 64 --arg force=zeros:f32:N*4 --arg body=random:f32:N*4 --arg n=N
