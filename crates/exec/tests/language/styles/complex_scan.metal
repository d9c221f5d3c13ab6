#include <metal_stdlib>
#include <metal_math>
using namespace metal;

struct Complex {
  float re, im;
  constexpr Complex() : re(0), im(0) {}
  constexpr Complex(float re, float im) : re(re), im(im) {}
  template <typename T, typename = enable_if_t<is_convertible_v<T, float>>>
  constexpr Complex(T x) thread : re(x), im(0) {}
  template <typename T, typename = enable_if_t<is_convertible_v<T, float>>>
  constexpr operator T() const thread {
    return static_cast<T>(re);
  }
};
constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
constexpr Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.im * b.re + a.re * b.im};
}

template <typename T> struct Ends {
  static constexpr constant T least = -metal::numeric_limits<T>::infinity();
};
template <typename U> struct LogOfSums {
  static constexpr constant U start = Ends<U>::least;
  template <typename T> U operator()(U sum, T next) { return log(exp(sum) + exp(static_cast<U>(next))); }
};

template <typename T, int READS = 2>
[[kernel]] void scan(device T *o, constant const int64_t *strides [[buffer(1)]],
                     constant const size_t &n [[buffer(2)]], uint3 at [[thread_position_in_grid]],
                     uint3 size [[threads_per_threadgroup]]) {
  threadgroup Complex turned[32];
  turned[at.x] = Complex(T(at.x), 1) * Complex(0, 1) + Complex(2);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  Complex z = turned[(at.x + 1) % 32];
  LogOfSums<T> op;
  T sum = op.start;
#pragma clang loop unroll(full)
  for (int j = 0; j < READS; ++j)
    sum = op(sum, T(j));
  o[at.x * strides[0]] = z.re + 10 * z.im + sum * 0 + T(n) + static_cast<T>(z) + size.x;
}
template [[host_name("scan_f32")]] [[kernel]] decltype(scan<float>) scan<float>;
