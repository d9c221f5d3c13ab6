#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;
template <typename V> float2 reversed(V v) { return v.yx * 2.0f; }
template <typename V> float2 both(V v) { return v.xy + v.yx - (-v.xy); }
template <typename T> struct Half { T d; float2 low() const { return d.xy * 0.5f; } };
struct Bits { uint a : 5; uint b : 11; int g : 16; };
struct Shared { matrix_float2x2 m; vector_float2 v; simd::float4 w; };
kernel void k(device float *o [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  float4 v(1, 2, 3, 4);
  v.wzyx = v;                        // 4 3 2 1
  float4 u;
  u.x = u.y = 3;
  u.zw = u.xy = float2(i, 5);        // i 5 i 5
  float t = ++u.x;                   // i + 1
  auto thrice = [](auto a) { return a.xy * 3; };
  Bits bits{1, 2, 3};
  bits.a += 3;
  bits.g -= int(bits.b);
  Shared s{matrix_float2x2(2), vector_float2(1, 2), v};
  o[i] = dot(v, float4(1, 10, 100, 1000)) + u.y + u.z + t
       + reversed(v).x + both(v).y + Half<float4>{v}.low().x + thrice(v).y
       + float(bits.a) + float(bits.g) + (s.m * s.v).y + s.w.x;
}
