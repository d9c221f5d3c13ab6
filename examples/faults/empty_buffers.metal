// Buffers that the host has not filled, and one that is bound twice.
// assay: launch --grid 64 --threadgroup 64 --buffer 0=empty:f32:128 --buffer 1=random:f32:64 --buffer 2=same:1
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], device float *again [[buffer(2)]], uint i [[thread_position_in_grid]]

kernel void accumulates_into_nothing(ARGS) {
    x[i] += y[i]; // fault: uninitialised
}
kernel void reads_the_half_nobody_wrote(ARGS) {
    x[i] = y[i];
    threadgroup_barrier(mem_flags::mem_device);
    again[i] = x[i + 64]; // fault: uninitialised
}
kernel void writes_its_own_input(ARGS) {
    again[(i + 1) & 63] = y[i]; // fault: race
}
