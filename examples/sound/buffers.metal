// Buffers that the host has not filled, and one that is bound twice: every thread keeps to what it has written itself.
// assay: launch --grid 256 --threadgroup 64 --buffer 0=empty:f32:256 --buffer 1=random:f32:256 --buffer 2=same:1
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], device float *again [[buffer(2)]], uint i [[thread_position_in_grid]]

kernel void fills_then_reads(ARGS) {
    x[i] = y[i];
    x[i] += 1;
}
kernel void works_in_place(ARGS) {
    again[i] = y[i] * 2;
}
