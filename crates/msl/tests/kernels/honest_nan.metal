// A test for NaN survives fast math.
// in replace
// has fcmp * uno
#include <metal_stdlib>
using namespace metal;

kernel void replace(device float* a, uint i [[thread_position_in_grid]]) {
  if (isnan(a[i])) a[i] = 0;
}
