#include <metal_stdlib>
#include <metal_simdgroup>
using namespace metal;
kernel void k(device float *o, uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
              ushort sg [[simdgroup_index_in_threadgroup]], uint w [[threads_per_simdgroup]]) {
  float x = o[i];
  half2 h = half2(x, x + 1);
  h = simd_shuffle_xor(h, ushort(1));
  float4 v = simd_broadcast(float4(x, 1, 2, 3), ushort(5));
  float up = simd_shuffle_and_fill_up(x, 1000.0f, ushort(4));
  float rot = simd_shuffle_rotate_down(x, ushort(3));
  float4 m = simd_shuffle_down(v, ushort(2));
  bool first = simd_is_first();
  o[i] = float(h.y) + v.x + up + rot + m.w + (first ? 0.5f : 0.0f) +
         simd_prefix_exclusive_product(lane == 3 ? 2.0f : 1.0f) + simd_min(x) +
         simd_product(lane < 2 ? 3.0f : 1.0f) + w + sg;
}
