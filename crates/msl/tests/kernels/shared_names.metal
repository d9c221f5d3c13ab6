// The names of <simd/simd.h> are there without it.
// kernels: k
#include <metal_stdlib>
using namespace metal;
kernel void k(device vector_float2* o, constant vector_float4& c, device matrix_float4x4* m, device simd_float3* s, device simd_float4x4* sm, device vector_uint3* u) { o[0] = vector_float2{1, 2} + c.xy; simd::float4 q = c; o[1] = q.xy; m[0] = matrix_float4x4(1.0f); s[0] = simd_float3{1,2,3}; sm[0] = m[0]; u[0] = vector_uint3(1); o[2] = vector_float2(s[0].x, 1); }
