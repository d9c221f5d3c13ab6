#include <metal_stdlib>
#include <metal_type_traits>
using namespace metal;
template <typename T, enable_if_t<is_same_v<T, bfloat>, bool> = true> METAL_FUNC float widen(T x) {
  return float(x) * 2;
}
template <typename T, enable_if_t<!is_same_v<T, bfloat>, bool> = true> METAL_FUNC float widen(T x) {
  return float(x);
}
template <int... Is> struct seq {};
template <int N, int... Is> struct make : make<N - 1, N - 1, Is...> {};
template <int... Is> struct make<0, Is...> {
  using type = seq<Is...>;
};
template <typename F, int... Is> METAL_FUNC void each(F f, seq<Is...>) {
  (f(integral_constant<int, Is>{}), ...);
}
struct Sum {
  template <typename T> METAL_FUNC T operator()(T a, T b) const { return a + b; }
  static constexpr constant float init = 0;
};
template <typename Op, typename T> METAL_FUNC T fold(const device T *x, int n, Op op = {}) {
  T r = T(Op::init);
  for (int j = 0; j < n; ++j)
    r = op(r, x[j]);
  return r;
}
template <typename T, typename U = float>
[[kernel]] void k(device U *o [[buffer(0)]], const device T *x [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
  U acc = fold<Sum>(x, 4);
  auto add = [&acc](auto y) { acc += U(y); };
  each(
      [&](auto n) {
        constexpr int v = decltype(n)::value;
        if constexpr (v % 2 == 0)
          add(v);
        else
          add(10 * v);
      },
      typename make<4>::type{});
  o[i] = acc + widen(x[i % 4]);
}
#define INST(name, T) template [[host_name(name)]] [[kernel]] decltype(k<T>) k<T>;
INST("k_bfloat", bfloat) INST("k_half", half) INST("k_float", float)
