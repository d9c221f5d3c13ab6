// The two 16-bit floating types convert to each other, which C++ does not allow.
// options: -fno-fast-math
// in convert
// has fpext half
// has fptrunc float * to bfloat
// has fpext bfloat
// has fptrunc float * to half
// in to_bfloat
// has fpext half
// has fptrunc float * to bfloat
// in to_half
// has fpext bfloat
// has fptrunc float * to half
#include <metal_stdlib>
using namespace metal;

kernel void convert(device half* h, device bfloat* b, uint i [[thread_position_in_grid]]) {
  b[i] = static_cast<bfloat>(h[i + 1]);
  h[i] = half(b[i + 1]);
}

// Through the parameter of a template, with vectors and several arguments beside it.
template <typename To, typename From, class V = vec<To, 2>>
inline To through(const device From *from, uint i) {
  const To value = To(from[i]) + To(1);
  const V pair = V(value, To(from[i + 1]));
  return i > 3 ? To(pair.x) : To();
}

kernel void to_bfloat(device bfloat *to, const device half *from, uint i [[thread_position_in_grid]]) {
  to[i] = through<bfloat>(from, i);
}

kernel void to_half(device half *to, const device bfloat *from, uint i [[thread_position_in_grid]]) {
  to[i] = through<half>(from, i);
}
