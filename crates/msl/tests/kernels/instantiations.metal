// Every form of explicit instantiation; sizes and types follow the instantiation.
// kernels: plain, deep::inner, add_f32, add_f16, add_bf16
// in module
// has c"assay.host_name 1\0Aname\09add_f16\00"
// has arg\09buffer\094\09constant\09read\09n\09uint\09reference
// has { i32, i32, i32, i32, i32, i32, i32, i32, i32 } { i32 256, i32 2, i32 4, i32 4, i32 268, i32 4, i32 4, i32 4, i32 263 }
// has { i32, i32, i32, i32, i32, i32, i32, i32, i32 } { i32 256, i32 2, i32 2, i32 2, i32 266, i32 4, i32 4, i32 4, i32 263 }
// has name\09deep::inner
#include <metal_stdlib>
using namespace metal;

enum Index { A = 2 };
kernel void plain(device float* a [[buffer(A)]]) { a[0] = 1; }

template <typename T, int N>
[[kernel, max_total_threads_per_threadgroup(N * 32)]] void add(
    device T* a [[buffer(2)]], constant uint& n [[buffer(4)]], uint i [[thread_position_in_grid]]) {
  if (i < n) a[i] += T(N);
}
typedef decltype(add<bfloat, 8>) add_t;
template [[host_name("add_" "f32")]] [[kernel]] decltype(add<float, 8>) add<float, 8>;
template [[host_name("add_f16")]] kernel void add<half, 8>(device half* a, constant uint& n, uint i);
template [[host_name("add_bf16")]] kernel add_t add<bfloat, 8>;

namespace deep {
kernel void inner(device int* a) { a[0] = 2; }
}
