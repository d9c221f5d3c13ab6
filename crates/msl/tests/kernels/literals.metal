// Numbers have the types Metal gives them; there is no double.
// in numbers
// hasnt double
// has half
#include <metal_stdlib>
using namespace metal;
constant float table[3] = {0.1, 1e-3, M_PI_F};

kernel void numbers(device float* a, device half* h, device bfloat* b, uint i [[thread_position_in_grid]]) {
  a[i] = a[i + 1] * 0.3 + table[i];
  h[i] = h[i + 1] * 1.5h + 2.0h;
  b[i] = b[i + 1] + 1.0bf;
  a[i + 2] = h[i] * 2.0;
}
