// Threadgroup memory that is read and nobody has written.
// assay: launch --grid 64 --threadgroup 64 --buffer 0=random:f32:64 --buffer 1=random:f32:64 --tgmem 0=256
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]
#define MEET threadgroup_barrier(mem_flags::mem_threadgroup)

struct Pair { float a; float b; };

kernel void never(ARGS) {
    threadgroup float s[64];
    MEET;
    x[i] = s[t]; // fault: uninitialised
}
kernel void half_of_it(ARGS) {
    threadgroup float s[64];
    if (t < 32) s[t] = y[i];
    MEET;
    x[i] = s[63 - t]; // fault: uninitialised
}
kernel void given(ARGS, threadgroup float *s [[threadgroup(0)]]) {
    s[t / 2] = 1;
    MEET;
    x[i] = s[t]; // fault: uninitialised
}
kernel void total(ARGS) {
    threadgroup float total;
    if (y[i] > 100) total = 1;
    MEET;
    x[i] = total; // fault: uninitialised
}
kernel void added_to(ARGS) {
    threadgroup float s[64];
    s[t] += y[i]; // fault: uninitialised
    MEET;
    x[i] = s[63 - t];
}
kernel void counted(ARGS) {
    threadgroup atomic_uint n;
    atomic_fetch_add_explicit(&n, 1, memory_order_relaxed); // fault: uninitialised
    MEET;
    x[i] = atomic_load_explicit(&n, memory_order_relaxed);
}
kernel void maximum(ARGS) {
    threadgroup atomic_int n;
    atomic_fetch_max_explicit(&n, int(y[i] * 100), memory_order_relaxed); // fault: uninitialised
    MEET;
    x[i] = atomic_load_explicit(&n, memory_order_relaxed);
}
kernel void loaded_atomically(ARGS) {
    threadgroup atomic_uint n;
    MEET;
    x[i] = atomic_load_explicit(&n, memory_order_relaxed); // fault: uninitialised
}
kernel void one_histogram_bin(ARGS) {
    threadgroup atomic_uint bins[64];
    if (t > 0) atomic_store_explicit(&bins[t], 0, memory_order_relaxed);
    MEET;
    atomic_fetch_add_explicit(&bins[63 - t], 1, memory_order_relaxed); // fault: uninitialised
    MEET;
    x[i] = atomic_load_explicit(&bins[t], memory_order_relaxed);
}
kernel void compared_and_exchanged(ARGS) {
    threadgroup atomic_uint n;
    uint expected = 0;
    atomic_compare_exchange_weak_explicit(&n, &expected, 1u, memory_order_relaxed, memory_order_relaxed); // fault: uninitialised
    MEET;
    x[i] = expected;
}
kernel void component(ARGS) {
    threadgroup float4 s[64];
    s[t].xyz = float3(y[i]);
    MEET;
    x[i] = s[63 - t].w; // fault: uninitialised
}
kernel void member(ARGS) {
    threadgroup Pair s[64];
    s[t].a = y[i];
    MEET;
    x[i] = s[63 - t].a + s[63 - t].b; // fault: uninitialised
}
kernel void matrix(ARGS) {
    threadgroup float s[64];
    if (t < 56) s[t] = y[i];
    MEET;
    simdgroup_float8x8 m;
    simdgroup_load(m, s, 8); // fault: uninitialised
    if (t < 32) simdgroup_store(m, x, 8);
}
kernel void last_row_of_a_tile(ARGS) {
    threadgroup float s[9][8];
    s[t / 8][t % 8] = y[i];
    MEET;
    x[i] = s[t / 8][t % 8] + s[t / 8 + 1][t % 8]; // fault: uninitialised
}
float sum_of(threadgroup const float *s, uint n) {
    float v = 0;
    for (uint k = 0; k < n; k++)
        v += s[k]; // fault: uninitialised in helper
    return v;
}
kernel void helper(ARGS) {
    threadgroup float s[64];
    if (t < 60) s[t] = y[i];
    MEET;
    x[i] = sum_of(s, 64);
}
