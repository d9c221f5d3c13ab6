// A file that begins with safe math divides by no reciprocals, vectors neither; its functions are the fast ones.
// in quotients
// has fdiv float
// has fdiv <4 x float>
// has air.fast_exp.f32
// hasnt arcp
#include <metal_stdlib>
#pragma METAL fp math_mode(safe)
using namespace metal;

kernel void quotients(device float* a, device float4* b, uint i [[thread_position_in_grid]]) {
  a[i] = exp(a[i] / a[i + 1]);
  b[i] = b[i] / b[i + 1];
}
