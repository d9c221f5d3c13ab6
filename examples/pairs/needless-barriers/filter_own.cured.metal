// A recursion in threadgroup memory of which each thread has its own word. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void filter_own(device float *y, device const float *x, constant uint &turns, uint i [[thread_position_in_grid]],
                       uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float held[256];
    held[tid] = x[i];
    for (uint k = 0; k < turns; k++) {
        held[tid] = held[tid] * 0.99f + 0.01f;

    }
    y[i] = held[tid];
}

// assay: launch filter_own --size N=65536 --grid N --threadgroup 256 --arg y=zeros:f32:N --arg x=random:f32:N --arg turns=64
