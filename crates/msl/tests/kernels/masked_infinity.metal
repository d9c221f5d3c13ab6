// Fast math must not assume that nothing is infinite: a masked softmax depends on it.
// in mask
// has 0xFFF0000000000000
// has fmul reassoc nsz arcp contract afn
#include <metal_stdlib>
using namespace metal;

kernel void mask(device float* a, constant uint& n, uint lid [[thread_index_in_threadgroup]]) {
  float x = lid < n ? a[lid] : -INFINITY;
  a[lid] = x * 0.5f;
}
