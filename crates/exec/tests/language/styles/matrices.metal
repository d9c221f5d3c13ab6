#include <metal_stdlib>
using namespace metal;
typedef matrix<float, 4, 4> mat;
kernel void k(device float *o, constant float4x4 &m [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  float3x3 r = float3x3(float3(1, 2, 3), float3(4, 5, 6), float3(7, 8, 10));
  half4x4 h(1.0h);
  float4 v = m * float4(i, 1, 0, 0) + float4(1, 2, 3, 4) * m;
  mat t = transpose(m);
  t[1][2] += 1;
  float2x2 q = float2x2(1, 2, 3, 4) * float2x2(2.0f);
  o[i] = v.x + t[1].z + determinant(r) + (r * float3(1, 1, 1)).z + q[1][0] + float(h[2][2]) + m.columns[0].x;
}
