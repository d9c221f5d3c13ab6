// Loop counters keep the width the source gave them.
// in sum
// has phi i32
// hasnt phi i64
#include <metal_stdlib>
using namespace metal;

kernel void sum(device const float* a, device float* o, constant int& n, uint i [[thread_position_in_grid]]) {
  float s = 0;
  for (int k = 0; k < n; k++) s += a[k * 4] * a[k];
  o[i] = s;
}
