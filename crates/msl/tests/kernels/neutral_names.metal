// Names that would tell an address space leave it out.
// in touch
// has float @air.atomic.add.f32(ptr
// has i32 @air.atomic.max.u.i32(ptr
// has i32 @air.atomic.load.i32(ptr
// has i32 @air.atomic.cmpxchg.weak.i32(ptr
// has @air.simdgroup_matrix_8x8_load.v64f32(ptr
// has @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f16.v64f16.v64f32(half
// has @air.simdgroup_matrix_8x8_store.v64f32(float
#include <metal_stdlib>
using namespace metal;

kernel void touch(device atomic_float* f, device atomic_uint* u, device float* m, device half* h) {
  atomic_fetch_add_explicit(f, 1.0f, memory_order_relaxed);
  atomic_fetch_max_explicit(u, 3u, memory_order_relaxed);
  uint expected = atomic_load_explicit(u, memory_order_relaxed);
  atomic_compare_exchange_weak_explicit(u, &expected, 2u, memory_order_relaxed, memory_order_relaxed);
  simdgroup_float8x8 c;
  simdgroup_half8x8 a, b;
  simdgroup_load(c, m, 8);
  simdgroup_load(a, h, 8);
  simdgroup_load(b, h + 64, 8, ulong2(0, 0), true);
  simdgroup_multiply_accumulate(c, a, b, c);
  simdgroup_store(c, m, 8);
}
