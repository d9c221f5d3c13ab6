// half and bfloat are converted to each other by every spelling of a cast, by way of float.
// kernels: k
// in k
// has fpext*half
// has fptrunc*to bfloat
#include <metal_stdlib>
using namespace metal;
template <typename T, typename U> T cast_to(U x) { return (T)x; }
template <typename T, typename U> T cast2(U x) { return static_cast<T>(x); }
template <typename T, typename U> T cast3(U x) { return T(x); }
typedef bfloat bf; using B = bfloat; using H = half; typedef bfloat bfloat16_t;
template <typename T> struct Tr { using type = bfloat; };
kernel void k(device half* h, device float* f, device bfloat* b, device float* o) {
  b[0] = (bfloat)h[0]; b[1] = bfloat(h[1]); b[2] = static_cast<bfloat>(h[2]); b[3] = (bf)h[3]; b[4] = B(h[4]); b[5] = static_cast<B>(h[5]);
  h[0] = (half)b[0]; h[1] = half(b[1]); h[2] = static_cast<half>(b[2]); h[3] = H(b[3]); h[4] = (H)b[4];
  b[6] = cast_to<bfloat>(h[6]); b[7] = cast2<bfloat>(h[7]); b[8] = cast3<bfloat>(h[8]); h[6] = cast_to<half>(b[6]); h[7] = cast2<half>(b[7]); h[8] = cast3<half>(b[8]);
  b[9] = (typename Tr<int>::type)h[9];
  bfloat4 v = bfloat4(half4(h[0])); half4 w = half4(v); float4 z = float4(v); bfloat4 y = (bfloat4)z; bfloat2 t = bfloat2(half2(1, 2)); half2 s = (half2)t;
  o[0] = v.x + w.x + z.x + y.x + t.x + s.x + (float)b[0] + float(h[0]);
  bfloat16_t q{f[0]}; bfloat16_t r = bfloat16_t{1.0f}; b[11] = q + r; half hh = half{f[1]}; h[9] = hh; b[12] = bfloat(int(3)); b[13] = (bfloat)3; b[14] = bfloat(3u); h[10] = half(b[3] + b[4]);
  float ff = h[1]; bfloat bb = static_cast<bfloat>(ff * 2); b[15] = bb; h[11] = f[0]; b[16] = f[1];
}
