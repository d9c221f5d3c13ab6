// Names and overloads that sources in the wild rely on.
// kernels: names
// in names
// has call*@air.simd_sum.f32(
// hasnt @air.simd_max
#include <metal_stdlib>
#include <metal_raytracing>
using metal::uint;

float simd_max(float x) { return x * 100; }
using namespace metal;

kernel void names(device float* o, array<device float*, 2> more [[buffer(4)]], uint i [[thread_position_in_grid]]) {
  metal::uchar small = metal::uchar(i);
  assert(small > 0);
  volatile float4 v;
  v = float4(simd_sum(o[i]), simd_max(o[i]), 0, 0);
  v.z = v.x;
  float4 w = v;
  bool4 b = w > float4(1);
  int2 exponents;
  float2 fraction = frexp(w.xy, exponents);
  int2 shifted = exponents << uint2(i, 3);
  int moved = sign(shifted.x) + (shifted << uint2(1)).y;
  bfloat larger = max(bfloat(fraction.x), bfloat(2));
  more[1][i] = b[i & 3] ? more[0][i] : numeric_limits<float4>::max().y + float(larger) + moved;
}
