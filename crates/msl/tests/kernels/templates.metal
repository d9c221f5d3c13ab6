// Class templates, partial specialisation, SFINAE, variadics, lambdas, conversion and
// call operators, if constexpr, inheritance.
// kernels: tower_f32, tower_i32
// in module
// has @air.fast_sin.f32(
#include <metal_stdlib>
using namespace metal;

template <typename T, int N, typename = void> struct Load { static T at(const device T* p, int i) { return p[i * N]; } };
template <typename T, int N> struct Load<T, N, enable_if_t<(N > 4)>> { static T at(const device T* p, int i) { return p[i]; } };
template <typename T> struct Base { T value; METAL_FUNC Base(T v) : value(v) {} };
template <typename T> struct Acc : Base<T> {
  METAL_FUNC Acc(T v) : Base<T>(v) {}
  METAL_FUNC void operator()(T x) thread { this->value += x; }
  METAL_FUNC operator T() const thread { return this->value; }
  METAL_FUNC friend bool operator<(Acc a, Acc b) { return a.value < b.value; }
};
template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true> T shape(T x) { return sin(x); }
template <typename T, enable_if_t<is_integral_v<T>, bool> = true> T shape(T x) { return x * 2; }
template <typename T, typename... R> T total(T first, R... rest) {
  if constexpr (sizeof...(rest) == 0) return first;
  else return first + total(rest...);
}
template <int N> struct Fixed { static constexpr constant int value = N; };
template <> struct Fixed<3> { static constexpr constant int value = 33; };

template <typename T> kernel void tower(const device T* a, device T* o, uint i [[thread_position_in_grid]]) {
  Acc<T> acc(T(0));
  auto add = [&](T x) { acc(x); };
  add(Load<T, 2>::at(a, i));
  add(Load<T, 8>::at(a, i));
  o[i] = shape(T(acc)) + total(T(1), T(2), T(Fixed<3>::value)) + (Acc<T>(1) < acc ? 1 : 0);
}
template [[host_name("tower_f32")]] [[kernel]] decltype(tower<float>) tower<float>;
template [[host_name("tower_i32")]] [[kernel]] decltype(tower<int>) tower<int>;
