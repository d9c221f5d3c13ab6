// With it, the fast functions; precise:: stays precise, half has one version.
// in both
// has @air.fast_exp.f32(
// has @air.exp.f32(
// has @air.exp.f16(
// has @air.fast_sqrt.f32(
// has @air.fast_fmax.f32(
#include <metal_stdlib>
using namespace metal;

kernel void both(device float* a, device half* h, uint i [[thread_position_in_grid]]) {
  a[i] = exp(a[i]) + precise::exp(a[i]) + max(sqrt(a[i]), 0.0);
  h[i] = exp(h[i]);
}
