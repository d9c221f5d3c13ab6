// Packed vectors are compared, computed with and swizzled as others are.
// kernels: k
#include <metal_stdlib>
using namespace metal;
kernel void k(device packed_float3* p, device float* o) {
  packed_float3 a = p[0], b = p[1];
  bool3 e = a == b; bool3 l = a < b; bool3 n = a != b; bool3 g = a >= float3(1);
  float2 xy = a.xy; float3 zyx = a.zyx; packed_float3 c = a; c.xy = float2(1, 2); c.zx = b.xy; c.x += 1;
  o[0] = any(e) + all(l) + any(n) + any(g) + xy.x + zyx.x + c.y + p[0].xz.y + dot(a, b) + length(a.xyz);
  packed_half4 h = packed_half4(half4(1)); o[1] = any(h == half4(1)) + h.xyz.x; packed_uint2 u = packed_uint2(1, 2); o[2] = any(u > uint2(1)) + u.yx.x;
  o[3] = (-a).x + (a * 2.0f).y + (a + b).z + (2.0f * a).x; bool3 nn = !e; o[4] = nn.x;
}
