// Widths, constructors, splats, conversions, comparisons, packed types.
// in widths
// has load <4 x float>
// has load <2 x i32>
// has fptrunc*<4 x float>
// has sitofp <2 x i32>
// has icmp slt <4 x i32>
// in module
// has arg\09buffer\095\09device\09read_write\09p\09packed_float3
#include <metal_stdlib>
using namespace metal;

kernel void widths(device float4* f, device half4* h, device int2* i, device float2* g, device int4* j,
                   device packed_float3* p, device float3* t, device bool4* b, device uchar3* c, device ulong2* l,
                   device short4* s, device bfloat2* q) {
  f[0] = float4(f[1].xy, 1, f[2].w) * 2 + float4(1) - float4(float3(1), 2);
  h[0] = half4(f[1] + f[2]);
  g[0] = float2(i[0] + i[1]);
  b[0] = j[0] < j[1] && !b[1];
  t[0] = float3(p[1]) + p[2] * 2.0f;
  p[0] = t[1];
  p[3].y += 1;
  c[0] = uchar3(c[1].zyx) + uchar3(1);
  l[0] = l[1] << 3 | ulong2(1, 2);
  s[0] = select(s[1], s[2], b[2]);
  q[0] = bfloat2(q[1]) * q[2];
  j[2] = as_type<int4>(f[3]);
  float4 e = {1, 2, 3};
  f[4] = e / f[5];
  f[6][1] = f[7][2];
}
