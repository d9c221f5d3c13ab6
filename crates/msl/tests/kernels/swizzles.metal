// Swizzles are values and targets, in templates and through pointers, and a struct of
// the user may have members of the same names.
// in swizzle
// count 1 store <4 x float>
// has store float
#include <metal_stdlib>
using namespace metal;

struct xyz_t { float xyz; float x; float2 rg; };
template <typename V> V turned(V v) { v.xy = v.yx; v.z *= 2; v.x += 1; return v.wzyx; }

kernel void swizzle(device float4* a, device float3* b, device xyz_t* u) {
  a[0] = turned(a[1]);
  b[0].zx = a[2].rg;
  a[3].w = b[1].b;
  u->xyz += u->x;
  u->rg.y = 2;
  device float4* p = a + 5;
  p->zw -= p->xy;
  p->x++;
}
