// Each thread goes through a row of 32 floats in threadgroup memory. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void smooth_rows(device float *y, device const float *x, constant uint &rounds,
                        uint group [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float rows[64 * 33];
    for (uint k = 0; k < 32; k++) rows[k * 2 * 33 + (tid / 32) * 33 + tid % 32] = x[(group * 64 + k * 2) * 32 + tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint r = 0; r < rounds; r++)
        for (uint k = 0; k < 32; k++)
            sum = sum * 0.5f + rows[tid * 33 + k];
    y[group * 64 + tid] = sum;
}

// assay: launch smooth_rows --size G=1024 --grid G*64 --threadgroup 64 --arg y=zeros:f32:G*64 --arg x=random:f32:G*64*32 --arg rounds=8
