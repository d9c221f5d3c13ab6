// Built-ins outside kernels are external constants; functions of other stages are not compiled.
// kernels: scoped
// in module
// has @assay.program_input.thread_position_in_grid.
// has @assay.program_input.thread_index_in_simdgroup.
// has assay.function_constant.7.bool.flag
// hasnt nothing_like_this
#include <metal_stdlib>
using namespace metal;

uint3 gid [[thread_position_in_grid]];
ushort lane [[thread_index_in_simdgroup]];
constant uint first_index = 4;
enum indices { zero, one, two, three };
constant bool flag [[function_constant(first_index + three)]];
uint place() { return gid.y * 8 + gid.x; }
vertex float4 corner(uint i [[vertex_id]]) { return nothing_like_this(i); }
kernel void scoped(device uint* o) { o[place()] = flag ? lane : gid.z; }
