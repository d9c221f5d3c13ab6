// Buffers do not alias: the value read before a write to another buffer is still good.
// in copy
// has ptr noalias
// count 1 load float
#include <metal_stdlib>
using namespace metal;

kernel void copy(device const float* a, device float* b, device float* c, uint i [[thread_position_in_grid]]) {
  b[i] = a[i];
  c[i] = a[i];
}
