// Modes of blocks: operators carry what the innermost pragma permits.
// in safely
// has fdiv float
// hasnt arcp
// in again
// has fdiv reassoc *arcp
// in apart
// count 2 fmul reassoc nsz arcp afn float
// hasnt contract
#include <metal_stdlib>
using namespace metal;

kernel void safely(device float* a, uint i [[thread_position_in_grid]]) {
#pragma METAL fp math_mode(safe)
  a[i] = a[i] / a[i + 1];
}

kernel void again(device float* a, uint i [[thread_position_in_grid]]) {
#pragma METAL fp math_mode(safe)
  if (i > 3) {
#pragma METAL fp math_mode(fast)
    a[i] = a[i] / a[i + 1];
  }
}

kernel void apart(device float* a, uint i [[thread_position_in_grid]]) {
#pragma METAL fp contract(off)
  a[i] = a[i] * a[i + 1] + a[i + 2] * a[i + 3];
}
