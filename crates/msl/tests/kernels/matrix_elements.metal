// The elements a thread holds of a simdgroup matrix can be read and written.
// in scale
// has @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(
// has @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(
// hasnt alloca
#include <metal_stdlib>
using namespace metal;

kernel void scale(device float* a) {
  simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(2.0f), n(1.0f);
  m.thread_elements()[0] *= 3;
  m.thread_elements()[1] = 4;
  reinterpret_cast<thread vec<float, 2>&>(n.thread_elements()) += 1.0f;
  simdgroup_multiply(m, m, n);
  simdgroup_store(m, a, 8);
}
