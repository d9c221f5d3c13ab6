#include <metal_stdlib>
using namespace metal;
template <typename T, int R, int C> struct Tile {
  vec<T, C> rows[R];
  METAL_FUNC thread vec<T, C> &operator[](int r) { return rows[r]; }
  METAL_FUNC vec<T, C> row(int r) const thread { return rows[r]; }
};
template <typename T, int N> METAL_FUNC T reduce(thread const vec<T, N> (&a)[4]) {
  vec<T, N> s = a[0];
  _Pragma("clang loop unroll(full)") for (int j = 1; j < 4; ++j) s += a[j];
  T r = 0;
#pragma unroll(N)
  for (int c = 0; c < N; ++c)
    r += s[c];
  return r;
}
[[max_total_threads_per_threadgroup(256)]] kernel void k(device float *o,
                                                         uint i [[thread_position_in_grid]]) {
  Tile<float, 4, 4> t;
#pragma clang loop unroll(full)
  for (int r = 0; r < 4; ++r)
    t[r] = float4(r, i, r * i, 1);
  vec<float, 3> g[4];
  for (int r = 0; r < 4; r++)
    g[r] = t.row(r).xyz;
  o[i] = reduce(t.rows) + reduce<float, 3>(g);
}
