// A helper that reduces over the simdgroup runs once, where it is called: not copied into
// both arms of a branch.
// in reduce
// count 1 call*@air.simd_sum.f32(
#include <metal_stdlib>
using namespace metal;

float helper(float x) { return simd_sum(x) + 1.0f; }

kernel void reduce(device float* a, device float* b, uint i [[thread_position_in_grid]]) {
  float v = a[i];
  float w;
  bool positive = v > 0;
  if (positive) w = v * 2; else w = v + 1;
  float s = helper(w);
  if (positive) a[i] = s; else b[i] = s * 3;
}
