// Decodes by a table that thread 0 computes.
#include <metal_stdlib>
using namespace metal;

kernel void lookup(device float *y, device const uchar *codes, constant float &rate,
                   uint i [[thread_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float table[256];
    if (tid == 0) // fault: serial-threads
        for (uint c = 0; c < 256; c++)
            table[c] = exp(-rate * float(c)) * 0.5f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = 0;
    for (uint k = 0; k < 4; k++) v += table[codes[i + k * 65536]];
    y[i] = v;
}

// assay: launch lookup --size N=65536 --grid N --threadgroup 256 --arg y=zeros:f32:N --arg codes=index:u8:N*4:256 --arg rate=0.01
