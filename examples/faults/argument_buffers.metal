// Accesses through pointers and textures that lie in argument buffers.
// assay: launch --grid 32 --threadgroup 32 --argument 0.weights=random:f32:32 --argument 0.rows[1].sums=zeros:f32:16 --argument 0.image=random:r32Float:8x8 --buffer 1=zeros:f32:32
#include <metal_stdlib>
using namespace metal;

struct Row {
    device float *sums [[id(0)]];
    uint length [[id(1)]];
};
struct Arguments {
    device float *weights [[id(0)]];
    Row rows[2] [[id(1)]];
    texture2d<float, access::read> image [[id(5)]];
    device float *nothing [[id(6)]];
};
#define ARGS constant Arguments &a [[buffer(0)]], device float *x [[buffer(1)]], uint i [[thread_position_in_grid]]

kernel void past_the_weights(ARGS) {
    x[i] = a.weights[i + 1]; // fault: out-of-bounds
}
kernel void past_an_inner_pointer(ARGS) {
    a.rows[1].sums[i] = x[i]; // fault: out-of-bounds
}
kernel void member_that_is_not_bound(ARGS) {
    x[i] = a.nothing[i]; // fault: out-of-bounds
}
kernel void past_a_texture(ARGS) {
    x[i] = a.image.read(uint2(i / 4, i % 4 + 5)).x; // fault: texture-out-of-bounds
}
kernel void neighbours_through_a_pointer(ARGS) {
    a.weights[i] = x[i];
    x[i] = a.weights[31 - i]; // fault: race
}
