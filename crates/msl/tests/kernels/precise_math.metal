// Without fast math no flag appears and the precise functions are called.
// options: -fno-fast-math
// in both
// has fadd float
// hasnt reassoc
// has @air.exp.f32(
// has @air.fast_exp.f32(
// has @llvm.fmuladd.f32(
#include <metal_stdlib>
using namespace metal;

kernel void both(device float* a, uint i [[thread_position_in_grid]]) {
  float x = a[i];
  a[i] = exp(x) + fast::exp(x);
  a[i + 1] = x * a[i + 2] + a[i + 3];
}
