// References and pointers to arrays, in every address space.
// kernels: k
#include <metal_stdlib>
using namespace metal;
template <typename T, int N> float total(thread T (&a)[N]) { float s = 0; for (int i = 0; i < N; i++) s += a[i]; return s; }
template <int N> float total2(threadgroup const float (&a)[N]) { return a[N - 1]; }
template <int N> float total3(constant float (&a)[N]) { return a[N - 1]; }
float f4(thread float (&a)[4]) { return a[3]; }
float f5(device float (*p)[4]) { return p[1][2]; }
constant float tab[3] = {1, 2, 3};
kernel void k(device float* o, device float (*m)[4]) { float a[4] = {1,2,3,4}; threadgroup float t[8]; t[7] = 3; thread float (&r)[4] = a; threadgroup float (*pt)[8] = &t; o[0] = total(a) + total2(t) + total3(tab) + f4(r) + (*pt)[7] + f5(m); for (thread float& x : a) x += 1; o[1] = a[0]; }
