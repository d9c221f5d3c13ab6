// Overloads, members and specialisations that differ only in address spaces are one.
// kernels: merged
// in merged
// has fadd
#include <metal_stdlib>
using namespace metal;

struct pair {
  float a, b;
  pair() thread = default;
  pair() threadgroup = default;
  pair(float x) thread : a(x), b(x) {}
  pair(float x) constant : a(x), b(x) {}
  float sum() const thread { return a + b; }
  float sum() const device { return a + b; }
  float sum() const constant { return a + b; }
};
template <typename T> struct element;
template <typename T> struct element<device T*> { typedef T type; };
template <typename T> struct element<threadgroup T*> { typedef T type; };
float first(device const float* p) { return p[0]; }
float first(threadgroup const float* q) { return q[0]; }
thread pair& operator+=(thread pair& x, pair y) { x.a += y.a; return x; }
threadgroup pair& operator+=(threadgroup pair& x, pair y) { x.a += y.a; return x; }

kernel void merged(device float* o, constant pair& p, device pair* q) {
  threadgroup element<device float*>::type t[1];
  t[0] = o[1];
  pair s(2.0f);
  s += q[0];
  o[0] = p.sum() + q[1].sum() + first(o) + first(t) + s.sum();
}
