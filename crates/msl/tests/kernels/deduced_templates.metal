// Templates: types made of types, enable_if, results deduced from arguments, overloads by address space.
// kernels: k
#include <metal_stdlib>
using namespace metal;
template <typename T> struct scalar_type { using type = T; };
template <typename T, int N> struct scalar_type<vec<T, N>> { using type = T; };
template <typename T> using make_scalar_t = typename scalar_type<T>::type;
template <typename T> struct make_scalar { typedef decltype(T()[0]) type; };
template <typename T, enable_if_t<is_integral_v<T>, bool> = true> constexpr T twice(T x) { return x * 2; }
template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true> constexpr T twice(T x) { return x + x; }
template <typename T> constexpr enable_if_t<is_same_v<T, int>, int> only(T x) { return x; }
template <typename T> METAL_FUNC auto first(device T* p) { return p[0]; }
template <typename T> METAL_FUNC auto first(threadgroup T* p) { return p[1]; }
template <typename T> METAL_FUNC auto first(constant T* p) { return p[2]; }
template <typename P> METAL_FUNC auto deref(P p) -> decltype(*p) { return *p; }
template <typename T> METAL_FUNC void copy(T src, threadgroup float* dst) { dst[0] = src[0]; }
kernel void k(device float* a, constant float* c, threadgroup float* t, device float* o) {
  make_scalar_t<float4> s = a[0]; t[1] = a[1]; copy(a, t); copy(c, t);
  o[0] = s + twice(3) + twice(2.0f) + only(4) + first(a) + first(t) + first(c) + deref(a) + deref(c);
  make_scalar<float4>::type q = 1; o[1] = q;
}
