// A parameter that is an array is a pointer, also for overloads that differ in address spaces.
// kernels: k
// in module
// has fadd
#include <metal_stdlib>
using namespace metal;
inline float total(thread const float values[4]) { return values[0] + values[3]; }
inline float total(device const float* values) {
  float copy[4];
  for (uint i = 0; i < 4; i++) copy[i] = values[i];
  return total(copy);
}
kernel void k(device float* o, device const float* p) { o[0] = total(p); }
