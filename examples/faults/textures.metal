// Accesses of textures that a GPU answers with zeros, with old values, or not at all.
// assay: launch --grid 32 --threadgroup 32 --texture 0=random:rgba8Unorm:32x4 --texture 1=empty:rgba32Float:32x4 --texture 2=zeros:r32Uint:32x4 --texture 3=zeros:r8Uint:32x4 --sampler 0=linear,repeat --buffer 0=zeros:f32:32
#include <metal_stdlib>
using namespace metal;
#define ARGS texture2d<float> in [[texture(0)]], texture2d<float, access::read_write> out [[texture(1)]], texture2d<uint, access::read_write> counts [[texture(2)]], sampler s [[sampler(0)]], device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]

kernel void column_past_the_end(ARGS) {
    x[i] = in.read(uint2(i + 1, 0)).x; // fault: texture-out-of-bounds
}
kernel void row_below_zero(ARGS) {
    x[i] = in.read(uint2(i, i / 32 - 1)).x; // fault: texture-out-of-bounds
}
kernel void level_that_is_not_there(ARGS) {
    x[i] = in.read(uint2(i, 0) / 2, 1).x; // fault: texture-out-of-bounds
}
kernel void write_past_the_end(ARGS) {
    out.write(float4(1), uint2(i, 4)); // fault: texture-out-of-bounds
}
kernel void texel_nobody_wrote(ARGS) {
    x[i] = out.read(uint2(i, 0)).x; // fault: uninitialised
}
kernel void neighbour_without_barrier(ARGS) {
    out.write(float4(i), uint2(i, 0));
    x[i] = out.read(uint2(31 - i, 0)).x; // fault: race
}
kernel void barrier_of_other_memory(ARGS) {
    out.write(float4(i), uint2(i, 0));
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = out.read(uint2(31 - i, 0)).x; // fault: race
}
kernel void two_writers(ARGS) {
    out.write(float4(i), uint2(i / 2, 0)); // fault: race
}
kernel void read_after_write_without_fence(ARGS) {
    out.write(float4(i), uint2(i, 0));
    x[i] = out.read(uint2(i, 0)).x; // fault: missing-fence
}
kernel void filtered_integers(ARGS, texture2d<uint> whole [[texture(3)]]) {
    x[i] = float(whole.sample(s, float2(0.5)).x); // fault: unsuitable-texture
}
kernel void floats_of_integers(ARGS, texture2d<float> wrong [[texture(3)]]) {
    x[i] = wrong.read(uint2(i, 0)).x; // fault: unsuitable-texture
}
kernel void pixel_coordinates_that_repeat(ARGS) {
    constexpr sampler pixels(coord::pixel, address::repeat);
    x[i] = in.sample(pixels, float2(i, 0)).x; // fault: unsuitable-texture
}
kernel void plain_write_beside_atomics(ARGS) {
    counts.atomic_fetch_add(uint2(0), uint4(1));
    if (i == 5) counts.write(uint4(7), uint2(0)); // fault: race
}

kernel void right_sums_by_barrier(ARGS) {
    out.write(in.read(uint2(i, 0)), uint2(i, 0));
    threadgroup_barrier(mem_flags::mem_texture);
    x[i] = out.read(uint2(31 - i, 0)).x;
}
kernel void right_own_texel_by_fence(ARGS) {
    out.write(float4(i), uint2(i, 0));
    out.fence();
    x[i] = out.read(uint2(i, 0)).x;
}
kernel void right_atomics(ARGS) {
    counts.atomic_fetch_add(uint2(i / 8, 0), uint4(1));
}
kernel void right_samples_outside(ARGS) {
    x[i] = in.sample(s, float2(3.5, -7.25)).x;
}
