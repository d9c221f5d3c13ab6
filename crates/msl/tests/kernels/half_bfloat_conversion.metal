// The two 16-bit floating types convert to each other, which C++ does not allow.
// options: -fno-fast-math
// in convert
// has fpext half
// has fptrunc float * to bfloat
// has fpext bfloat
// has fptrunc float * to half
#include <metal_stdlib>
using namespace metal;

kernel void convert(device half* h, device bfloat* b, uint i [[thread_position_in_grid]]) {
  b[i] = static_cast<bfloat>(h[i + 1]);
  h[i] = half(b[i + 1]);
}
