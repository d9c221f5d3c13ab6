// Rows of 32 turned by lanes of one simdgroup, with barriers for all.
#include <metal_stdlib>
using namespace metal;

kernel void turn_rows(device float *y, device const float *x, constant uint &turns, uint i [[thread_position_in_grid]],
                      uint tid [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float held[512];
    threadgroup float *row = held + (tid & ~31u);
    float v = x[i];
    for (uint k = 0; k < turns; k++) {
        row[lane] = v;
        threadgroup_barrier(mem_flags::mem_threadgroup); // fault: needless-barriers
        v = 0.5f * v + 0.5f * row[(lane + 5) & 31];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    y[i] = v;
}

// assay: launch turn_rows --size N=65536 --grid N --threadgroup 512 --arg y=zeros:f32:N --arg x=random:f32:N --arg turns=32
