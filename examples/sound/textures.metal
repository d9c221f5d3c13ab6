// Textures that are read and written, by one thread or with a barrier between, and read at and beyond their edges by samplers.
// assay: launch --grid 64 --threadgroup 64 --texture 0=random:rgba8Unorm:16x16 --texture 1=zeros:rgba32Float:16x16 --texture 2=zeros:r32Uint:16x16 --texture 3=empty:r32Float:16x16 --sampler 0=linear,clamp_to_edge --buffer 0=zeros:f32:64
#include <metal_stdlib>
using namespace metal;
#define ARGS texture2d<float> in [[texture(0)]], texture2d<float, access::read_write> out [[texture(1)]], texture2d<uint, access::read_write> counts [[texture(2)]], texture2d<float, access::read_write> fresh [[texture(3)]], sampler s [[sampler(0)]], device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]

kernel void own_texel(ARGS) {
    uint2 at(i % 16, i / 16);
    out.write(in.read(at), at);
    out.fence();
    x[i] = out.read(at).x;
}
kernel void own_texel_twice(ARGS) {
    uint2 at(i % 16, i / 16);
    for (uint k = 0; k < 3; k++) {
        uint4 n = counts.read(at);
        counts.write(n + 1, at);
        counts.fence();
    }
    x[i] = counts.read(at).x;
}
kernel void neighbour_after_a_barrier(ARGS) {
    uint2 at(i % 16, i / 16);
    out.write(float4(i), at);
    threadgroup_barrier(mem_flags::mem_texture);
    x[i] = out.read(uint2(15 - at.x, at.y)).x;
}
kernel void turns_of_a_stencil(ARGS) {
    uint2 at(i % 16, i / 16);
    out.write(in.read(at), at);
    for (uint k = 0; k < 3; k++) {
        threadgroup_barrier(mem_flags::mem_texture);
        float4 v = out.read(uint2((at.x + 1) % 16, at.y)) + out.read(at);
        threadgroup_barrier(mem_flags::mem_texture);
        out.write(v / 2, at);
    }
}
kernel void written_before_it_is_read(ARGS) {
    uint2 at(i % 16, i / 16);
    fresh.write(float4(i), at);
    fresh.fence();
    x[i] = fresh.read(at).x;
}
kernel void past_the_edge_by_a_sampler(ARGS) {
    x[i] = in.sample(s, float2(i, -3.0f) / 16).x;
}
kernel void between_texels(ARGS) {
    x[i] = in.sample(s, (float2(i % 16, i / 16) + 0.25f) / 16).y;
}
kernel void four_around(ARGS) {
    float4 v = in.gather(s, float2(i % 16 + 1, i / 16 + 1) / 16, int2(0), component::z);
    x[i] = v.x + v.w;
}
kernel void only_inside(ARGS) {
    int2 at = int2(i % 16, i / 16) - 1;
    bool inside = all(at >= 0) && at.x < int(in.get_width()) && at.y < int(in.get_height());
    x[i] = inside ? in.read(uint2(at)).x : 0.0f;
}
kernel void clamped_by_hand(ARGS) {
    int2 at = clamp(int2(i % 16, i / 16) - 2, 0, 15);
    x[i] = in.read(uint2(at)).w;
}
kernel void sizes_of_a_texture(ARGS) {
    x[i] = in.get_width() * in.get_height() + in.get_num_mip_levels();
}
kernel void one_thread_writes_a_row(ARGS) {
    if (i >= 16) return;
    for (uint k = 0; k < 16; k++) out.write(float4(k), uint2(k, i));
    out.fence();
    x[i] = out.read(uint2(15, i)).x;
}
