#include <metal_stdlib>
#include <metal_compute>
#include <metal_quadgroup>
#include <metal_limits>
#pragma METAL fp math_mode(safe)
#pragma METAL internals : enable
using namespace metal;
namespace detail {
namespace inner {
constant constexpr const uint table[2][3] = {{1, 2, 3}, {4, 5, 6}};
}
} // namespace detail
using namespace detail;
typedef half2 pair_t;
enum { kA = 3, kB };
struct alignas(16) Aligned {
  float a;
  int b[3];
};
template <typename T> struct Acc;
template <> struct Acc<half> {
  using type = float;
};
template <typename T> using acc_t = typename Acc<T>::type;
static inline __attribute__((always_inline)) uint hash(uint x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  return x;
}
[[host_name("renamed")]] kernel void k
    [[max_total_threads_per_threadgroup(32)]](device uint *o [[buffer(0)]], device Aligned *al [[buffer(1)]],
                                              const uint tid [[thread_position_in_grid]],
                                              const uint lsz [[dispatch_threads_per_threadgroup]],
                                              const ushort quad [[quadgroup_index_in_threadgroup]],
                                              const uint gsz [[threadgroups_per_grid]]) {
  volatile uint z = 3;
  acc_t<half> f = 2.5;
  ushort us = ushort(tid);
  us <<= 2;
  char c = 'a';
  long big = 1l << 40;
  bool flag = tid & 1;
  Aligned mine = al[tid];
  mine.b[1] += kB;
  al[tid] = mine;
  do {
    z = z + 1;
    if (z > 5u)
      break;
    else
      continue;
  } while (true);
  int4 iv = int4(1, -2, 3, -4);
  iv = abs(iv) >> 1;
  uint4 uv = as_type<uint4>(iv);
  bool4 bv = iv > 0;
  ushort3 s3 = ushort3(uv.xyz);
  o[tid] = hash(tid) % 7 + inner::table[tid & 1][tid % 3] + z + uint(f) + us + uint(c) + uint(big >> 38) +
           (flag ? 1 : 0) + uv.w + uint(bv.x) + s3.z + sizeof(Aligned) + quad + lsz + gsz +
           numeric_limits<ushort>::max() / 65535 + uint(INFINITY > MAXFLOAT) + quad_broadcast(tid, ushort(1));
}
