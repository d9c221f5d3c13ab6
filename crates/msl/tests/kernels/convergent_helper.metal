// A helper that reduces over the simdgroup runs once, where it is called: not copied into
// both arms of a branch.
// in reduce
// count 1 call*@air.simd_sum.f32(
#include <metal_stdlib>
using namespace metal;

float helper(float x) { return simd_sum(x); }

kernel void reduce(device const float* a, device float* b, constant uint& n, uint i [[thread_position_in_grid]]) {
  float v = 0;
  if (i < n) v = a[i];
  float s = helper(v);
  if (i < n) b[i] = s;
}
