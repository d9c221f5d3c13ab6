// Members of classes that are types, called: A<T>::type(x), between half and bfloat too, wherever an operand may stand.
// kernels: k
// in k
// has fptrunc*to bfloat
#include <metal_stdlib>
using namespace metal;
template <typename T> struct A { using type = T; };
template <typename T> struct S { typedef bfloat type; };
struct Plain { using type = bfloat; };
template <typename T> T converted(half x) { return typename A<T>::type(x); }
template <typename T> T doubled(half x) { using U = typename A<T>::type; return U(x) * U(2); }
kernel void k(device float* o, device half* h, device bfloat* b, uint i [[thread_position_in_grid]]) {
  b[i] = A<bfloat>::type(h[i]);
  b[i] += S<int>::type(h[i]);
  h[i] = A<half>::type(b[i]) * A<half>::type(b[i + 1]);
  bfloat pair[2] = {Plain::type(h[i]), Plain::type(h[i + 1])};
  b[i] = pair[0] < Plain::type(h[2]) ? pair[1] : Plain::type(3);
  if (Plain::type(h[1]) > pair[0] || pair[1] > Plain::type(h[3])) b[i + 1] = Plain::type{1.0f};
  o[i] = A<float>::type(b[i]) + A<int>::type(2.5f) + converted<float>(h[i]);
  b[i + 2] = converted<bfloat>(h[i]) + doubled<bfloat>(h[i]);
  typename A<float4>::type v = A<float4>::type(1, 2, 3, 4);
  o[i] += v.x;
}
