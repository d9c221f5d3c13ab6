// Buffers without an index take the free ones in order, and references are pointers.
// in module
// has arg\09buffer\090\09device\09read\09a\09const float
// has arg\09buffer\091\09constant\09read\09n\09int\09reference
// has arg\09buffer\093\09device\09read_write\09o\09float
// has arg\09threadgroup\090\09threadgroup\09read_write\09t\09half
// has arg\09buffer\092\09device\09read\09x\09const float4
#include <metal_stdlib>
using namespace metal;

kernel void order(device const float* a, constant int& n, device float* o [[buffer(3)]], threadgroup half* t,
                  const device float4* x, uint i [[thread_position_in_grid]]) {
  o[i] = a[i] * n + t[i] + x[i].x;
}
