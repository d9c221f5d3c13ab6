// Loops stay loops; what was hinted is written beside them.
// in count
// count 3 call*@air.simd_sum.f32(
// in module
// has llvm.loop.unroll.full
// has llvm.loop.unroll.count
#include <metal_stdlib>
using namespace metal;
#define TIMES(n) (n * 2)

kernel void count(device float* a, uint i [[thread_position_in_grid]]) {
#pragma clang loop unroll(full)
  for (int k = 0; k < 8; k++) a[k + i] = simd_sum(a[k]);
#pragma unroll(TIMES(2))
  for (int k = 0; k < 16; k++) a[k + i] = simd_sum(a[k + 3]);
  for (int k = 0; k < 4; k++) a[k + i] = simd_sum(a[k + 5]);
}
