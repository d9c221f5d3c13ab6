// Attributes and the words of a declaration may stand in any order.
// in module
// has front* global [32 x float] *section "assay.threadgroup", align 16
// has behind* global [32 x float] *section "assay.threadgroup", align 16
// has between* global [32 x float] *section "assay.threadgroup", align 16
// has last* global [32 x float] *section "assay.threadgroup", align 16
// has turned* global [32 x float] *section "assay.threadgroup"
// has middle* global [32 x float] *section "assay.threadgroup", align 64
// has aligned* global [32 x float] *section "assay.threadgroup", align 16
// has labelled* global i32 *section "assay.threadgroup"
// has fixed* global [32 x *section "assay.threadgroup"
// has table* constant [4 x float] *align 64
// has arg\09buffer\090\09device\09read_write\09a\09float
// has arg\09buffer\091\09device\09read\09b\09const float
// has arg\09buffer\092\09constant\09read\09c\09float
// has arg\09buffer\093\09device\09read\09d\09const float
// has arg\09threadgroup\090\09threadgroup\09read_write\09e\09float
#include <metal_stdlib>
using namespace metal;

constant alignas(64) float table[4] = {1, 2, 3, 4};

static float sum(threadgroup __attribute__((aligned(16))) float* s, float const threadgroup* t, device const float* d) {
  return s[1] + t[2] + d[0];
}

kernel void orders(device __attribute__((aligned(16))) float* a [[buffer(0)]], const float device* b [[buffer(1)]],
                   float constant& c [[buffer(2)]], __attribute__((aligned(16))) const device float* d [[buffer(3)]],
                   float threadgroup* e [[threadgroup(0)]], uint i [[thread_index_in_threadgroup]]) {
  threadgroup __attribute__((aligned(16))) float front[32];
  __attribute__((aligned(16))) threadgroup float behind[32];
  threadgroup float __attribute__((aligned(16))) between[32];
  threadgroup float last[32] __attribute__((aligned(16)));
  float threadgroup turned[32];
  static threadgroup alignas(64) float middle[32];
  threadgroup alignas(16) float aligned[32];
  metal::vec<float, 2> threadgroup fixed[32];
  float thread local = 0;
  thread __attribute__((aligned(16))) float room[4] = {b[i]};
  float threadgroup* pointer = front;
  threadgroup __attribute__((aligned(16))) float* other = behind;
  switch (i) {
    case 0: threadgroup int labelled; labelled = 1; break;
  }
  front[i] = behind[i] = between[i] = last[i] = turned[i] = middle[i] = aligned[i] = a[i];
  fixed[i] = c;
  e[i] = table[i & 3];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint n = i ^ 1;
  local += front[n] + behind[n] + between[n] + last[n] + turned[n] + middle[n] + aligned[n] + fixed[n].x + e[n] + room[0];
  a[i] = local + sum(pointer, other, d);
}
