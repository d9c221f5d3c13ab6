#include <metal_stdlib>
#include <metal_atomic>
using metal::atomic_fetch_add_explicit;
kernel void k(device metal::atomic_float *o [[buffer(0)]], device metal::atomic<int> *m [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&o[i % 4], float(i), metal::memory_order_relaxed);
  metal::atomic_fetch_max_explicit(m, int(i * 7 % 32), metal::memory_order_relaxed);
  int e = 31;
  while (!metal::atomic_compare_exchange_weak_explicit(m + 1, &e, e + 1, metal::memory_order_relaxed,
                                                       metal::memory_order_relaxed)) {
  }
}
