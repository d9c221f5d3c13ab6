// What belongs to rendering is left out, and the kernels beside it are compiled.
// kernels: tess, plain
#include <metal_stdlib>
using namespace metal;
struct Fac { half edge; };
struct CP { float4 p [[attribute(0)]]; };
struct VO { float4 position [[position]]; float c; };
struct PatchIn { patch_control_point<CP> cp; };
kernel void tess(device MTLTriangleTessellationFactorsHalf* f [[buffer(0)]], device MTLQuadTessellationFactorsHalf* q [[buffer(1)]], uint i [[thread_position_in_grid]]) { f[i].edgeTessellationFactor[0] = 1.0h; f[i].insideTessellationFactor = 2.0h; q[i].insideTessellationFactor[1] = 1; }
[[patch(triangle, 3)]] vertex VO post(PatchIn in [[stage_in]], float3 uv [[position_in_patch]]) { VO o; o.position = in.cp[0].p * uv.x; o.c = 1; return o; }
struct IB { half4 c; float d; };
kernel void tile(imageblock<IB, imageblock_layout_explicit> img, ushort2 lid [[thread_position_in_threadgroup]]) { IB v = img.read(lid); v.d = 1; img.write(v, lid); }
fragment float4 frag(VO in [[stage_in]], texture2d<float> t [[texture(0)]]) { constexpr sampler s(filter::linear); return t.sample(s, in.position.xy); }
struct ICB { command_buffer cb [[id(0)]]; };
struct Calls { device const void *slots; uint from; command_buffer into; compute_pipeline_state state; };
static_assert(sizeof(Calls) == 32, "an object is a handle of eight bytes");
kernel void icb(device ICB& b [[buffer(0)]], uint i [[thread_position_in_grid]]) { render_command c(b.cb, i); c.draw_primitives(primitive_type::triangle, 0, 3, 1, 0); compute_command cc(b.cb, i); cc.concurrent_dispatch_threadgroups(uint3(1), uint3(1)); }
[[visible]] float vis(float x) { return x * 2; }
kernel void usesvis(visible_function_table<float(float)> t [[buffer(0)]], device float* o [[buffer(1)]]) { o[0] = t[0](1.0f); }
struct Payload { float x; }; struct PD { float y; };
[[object]] void obj(object_data Payload& p [[payload]], mesh_grid_properties g, uint i [[thread_position_in_grid]]) { p.x = 1; g.set_threadgroups_per_grid(uint3(1)); }
[[mesh]] void msh(metal::mesh<VO, PD, 64, 32, topology::triangle> m, const object_data Payload& p [[payload]], uint i [[thread_index_in_threadgroup]]) { VO v; m.set_vertex(i, v); m.set_index(i, 1); m.set_primitive_count(1); }
kernel void plain(device float* o [[buffer(0)]], uint i [[thread_position_in_grid]]) { o[i] = 3; }
