// A filter whose taps thread 0 brings to threadgroup memory.
#include <metal_stdlib>
using namespace metal;

kernel void filter_long(device float *y, device const float *x, device const float *taps,
                        uint i [[thread_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float held[128];
    if (tid == 0) { // fault: serial-threads
        for (uint k = 0; k < 128; k++)
            held[k] = taps[k];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint k = 0; k < 32; k++) sum += held[k * 4] * x[i + k];
    y[i] = sum;
}

// assay: launch filter_long --size N=131072 --grid N --threadgroup 128 --arg y=zeros:f32:N --arg x=random:f32:N+128 --arg taps=random:f32:128
