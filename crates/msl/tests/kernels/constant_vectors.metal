// Arithmetic and comparisons of vectors are constant expressions (elements of them too, from clang 20 on).
// kernels: k
// in module
// hasnt _GLOBAL__sub_I
#include <metal_stdlib>
using namespace metal;
constexpr constant float3 a = float3(1, 2, 3);
constexpr constant float3 b = a * 2.0f + float3(1);
constexpr constant int4 shifted = int4(1, 2, 3, 4) << 1;
constexpr constant float2 pairs[2] = { float2(1, 2), float2(3, 4) * 0.5f };
constexpr constant half4 doubled = half4(1) * 2.0h;
constexpr float4 ramp(float x) { return float4(x) + float4(1, 2, 3, 4); }
constexpr constant float4 ramped = ramp(3.0f);
constexpr constant bool3 less = a < b;
kernel void k(device float* o, uint i [[thread_position_in_grid]]) {
  constexpr float3 local = -(a - b);
  o[0] = b[i] + shifted[i] + pairs[i].y + local.x + doubled[i] + ramped[i] + less[i];
}
