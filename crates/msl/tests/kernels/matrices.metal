// Matrices: columns, products, transposition; nothing is left to be unrolled.
// in transform
// hasnt br i1
// has fmul
// has fdiv
#include <metal_stdlib>
using namespace metal;

kernel void transform(device float4x4* m, device float4* v, device float3x3* n, device half2x2* h) {
  v[0] = m[0] * v[1];
  v[2] = v[3] * m[1];
  m[2] = transpose(m[0] * m[1]) + m[3] * 2.0f;
  n[0] = float3x3(1.0f) * n[1];
  n[2] = n[1] / v[4].x;
  n[2] /= v[4].y;
  n[2][0] = float3(determinant(n[3]));
  h[0] = half2x2(1, 2, 3, 4) * h[1];
}
