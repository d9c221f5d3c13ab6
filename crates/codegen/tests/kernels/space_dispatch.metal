// Functions overloaded by address space, built-ins at program scope, components of truth values.
#include <metal_stdlib>
using namespace metal;

void put(device float* p, float v) { p[0] = v; }
void put(threadgroup float* p, float v) { p[0] = v * 2; }
template <typename T, int N = 1> T get(const device T* p) { return p[0] + T(N); }
template <typename T, int N = 1> T get(const threadgroup T* p) { return p[0] + T(2 * N); }
template <typename T, int N = 1> T get(const thread T* p) { return p[0] + T(3 * N); }
struct cell {
  float x;
  float value() const device { return x; }
  float value() const thread { return x * 3; }
  thread float& operator[](size_t) thread { return x; }
  device float& operator[](size_t) device { return x; }
};

kernel void sorted(device float* o, device cell* c, uint i [[thread_position_in_grid]]) {
  threadgroup float t[32];
  put(t + (i & 31), 1.0f);
  put(o + 2 * i, 5.0f);
  float l = 1;
  cell copy = c[0];
  copy[0] += c[1][0];
  o[2 * i + 1] = get(t + (i & 31)) + get(o + 2 * i) * 10 + get<float, 2>(&l) * 100 + c[0].value() + copy.value();
}

uint2 gid [[thread_position_in_grid]];
ushort lane [[thread_index_in_simdgroup]];
uint twice() { return gid.x * 2; }

kernel void program_scope(device uint* o) { o[gid.x] = twice() + lane; }

kernel void truths(device uint* o, device const uchar4* x, uint i [[thread_position_in_grid]]) {
  bool4 b = x[i] > uchar4(9);
  bool2 c = bool2(b.x, b.w);
  o[i] = (b[i & 3] ? 1 : 0) + (c[i & 1] ? 2 : 0) + (b.z ? 4 : 0);
}
