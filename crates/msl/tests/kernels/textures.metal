// Textures and samplers are handles; operations are calls by name.
// kernels: blur
// in blur
// has @air.read_texture_2d.v4f32(ptr
// has @air.write_texture_2d.v4f32(ptr
// has @air.sample_texture_2d.v4f32(ptr
// in module
// has arg\09texture\091\09handle\09write\09o\09texture2d<float, access::write>
// has arg\09sampler\090\09handle\09read\09s\09sampler
#include <metal_stdlib>
using namespace metal;

float4 fetch(texture2d<float> t, sampler s, float2 at) { return t.sample(s, at); }

kernel void blur(texture2d<float> t [[texture(0)]], texture2d<float, access::write> o [[texture(1)]], sampler s [[sampler(0)]],
                 uint2 g [[thread_position_in_grid]]) {
  constexpr sampler own(coord::normalized, filter::linear);
  o.write(t.read(g) + fetch(t, s, float2(g)) + t.sample(own, float2(0.5)), g);
}
