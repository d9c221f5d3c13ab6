// A collective in a branch is another one than the same call before it: fewer threads
// take part.
// in vote
// count 2 call*@air.simd_ballot.i64(
// count 2 call*@air.simd_sum.f32(
#include <metal_stdlib>
using namespace metal;

kernel void vote(device const float* a, device ulong* o, device float* f, uint i [[thread_position_in_grid]]) {
  bool p = a[i] > 0;
  ulong all = (ulong)simd_ballot(p);
  float s = simd_sum(a[i]);
  if (p) {
    o[i] = all + (ulong)simd_ballot(p);
    f[i] = s + simd_sum(a[i]);
  }
}
