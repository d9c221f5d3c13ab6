#include <metal_stdlib>
using namespace metal;
constant int2 tile [[function_constant(0)]];
constant float3 scale [[function_constant(1)]];
constant int2 twice = tile * 2;
kernel void k(device float *o [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  // One part, one by a number, all of it, and one part of what is computed from it.
  o[i] = float(tile.y + tile[i & 1] + twice.x) + dot(scale, float3(1, 10, 100));
}
