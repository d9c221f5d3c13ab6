// Functions overloaded by address space that do different things: the first asks and calls the others.
// kernels: sorted
// in sorted
// has call*@assay.space(
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
  put(t + i, 1.0f);
  put(o, 5.0f);
  float l = 1;
  cell copy = c[0];
  copy[0] += c[1][0];
  o[1] = get(t + i) + get(o) * 10 + get<float, 2>(&l) * 100 + c[0].value() + copy.value();
}
