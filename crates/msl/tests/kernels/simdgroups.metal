// Reductions, prefixes and shuffles by Apple's names.
// in all
// has @air.simd_sum.f32(
// has @air.simd_sum.s.i32(
// has @air.simd_max.f16(
// has @air.simd_prefix_exclusive_sum.f32(
// has @air.simd_shuffle_xor.f32(
// has @air.simd_shuffle_down.u.i32(
// has @air.simd_shuffle_down.u.v2i32(<2 x i32>
// has @air.simd_shuffle.v4f32(<4 x float>
// has @air.simd_broadcast_first.f32(
// has @air.quad_sum.f32(
// has @air.simd_any(
// has @air.simd_shuffle_and_fill_up.f32(
// has @air.simdgroup.barrier(i32 noundef 0
#include <metal_stdlib>
#include <metal_simdgroup>
using namespace metal;

kernel void all(device float* a, device int* i, device half* h, device uint2* u, device float4* v, device half2* w,
                uint l [[thread_index_in_simdgroup]]) {
  a[0] = simd_sum(a[l]);
  i[0] = simd_sum(i[l]);
  h[0] = simd_max(h[l]);
  a[1] = simd_prefix_exclusive_sum(a[l]);
  a[2] = simd_shuffle_xor(a[l], 1);
  u[0] = simd_shuffle_down(u[l], 2);
  i[1] = as_type<int>(simd_shuffle_down(as_type<uint>(i[l]), 4));
  v[0] = simd_shuffle(v[l], ushort(l ^ 3));
  w[0] = simd_shuffle(w[l], 1);
  a[3] = simd_broadcast_first(a[l]) + quad_sum(a[l]);
  if (simd_any(a[l] > 0)) a[4] = simd_shuffle_and_fill_up(a[l], 0.0f, 1);
  simdgroup_barrier(mem_flags::mem_none);
}
