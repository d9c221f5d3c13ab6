// bfloat and half are computed in their own precision, not promoted and rounded back.
// options: -fno-fast-math
// in scale
// has fmul bfloat
// has fmul half
// hasnt fpext
// hasnt fptrunc
#include <metal_stdlib>
using namespace metal;

kernel void scale(device bfloat* a, device half* b, uint i [[thread_position_in_grid]]) {
  a[i] = a[i] * a[i + 1];
  b[i] = b[i] * b[i + 1];
}
