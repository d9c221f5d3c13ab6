// Indices that leave one threadgroup array, and mostly land in the next.
// assay: launch --grid 64 --threadgroup 64 --buffer 0=random:f32:64 --buffer 1=random:f32:64 --tgmem 0=256 --tgmem 1=256
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]
#define GIVEN threadgroup float *p [[threadgroup(0)]], threadgroup float *q [[threadgroup(1)]]
#define MEET threadgroup_barrier(mem_flags::mem_threadgroup)

struct Pair { float a, b; };

kernel void read_into_next(ARGS) {
    threadgroup float a[64], b[64];
    a[t] = y[i]; b[t] = -y[i];
    MEET;
    x[i] = a[t + 1] + b[t]; // fault: out-of-bounds
}
kernel void write_into_next(ARGS) {
    threadgroup float a[64], b[64];
    b[t] = 0;
    MEET;
    a[t + 1] = y[i]; // fault: out-of-bounds
    MEET;
    x[i] = b[t];
}
kernel void read_into_previous(ARGS) {
    threadgroup float a[64], b[64];
    a[t] = y[i]; b[t] = -y[i];
    MEET;
    x[i] = b[int(t) - 1] + a[t]; // fault: out-of-bounds
}
kernel void halo_forgotten(ARGS) {
    threadgroup float a[64];
    threadgroup float c[4];
    a[t] = y[i];
    if (t < 4) c[t] = 1;
    MEET;
    float s = 0;
    for (uint k = 0; k < 3; k++)
        s += a[t + k] * c[k]; // fault: out-of-bounds
    x[i] = s;
}
kernel void rows_of_a_tile(ARGS) {
    threadgroup float a[8][8];
    threadgroup float b[8][8];
    a[t / 8][t % 8] = y[i]; b[t / 8][t % 8] = y[i];
    MEET;
    x[i] = a[t / 8 + 1][t % 8] + b[t / 8][t % 8]; // fault: out-of-bounds
}
kernel void vectors(ARGS) {
    threadgroup float4 a[16], b[16];
    if (t < 16) { a[t] = float4(1); b[t] = float4(2); }
    MEET;
    x[i] = a[t / 4 + 1].y + b[t / 4].x; // fault: out-of-bounds
}
kernel void structs(ARGS) {
    threadgroup Pair a[64], b[64];
    a[t].a = 1; a[t].b = 2; b[t].a = 3; b[t].b = 4;
    MEET;
    x[i] = a[t ^ 64].b + b[t].a; // fault: out-of-bounds
}
kernel void over_a_scalar(ARGS) {
    threadgroup float a[64];
    threadgroup float total;
    if (t == 0) total = 1;
    MEET;
    a[t + 1] = y[i]; // fault: out-of-bounds
    MEET;
    x[i] = total + a[t];
}
kernel void given_into_given(ARGS, GIVEN) {
    p[t] = y[i]; q[t] = 0;
    MEET;
    x[i] = p[t + 32] + q[t]; // fault: out-of-bounds
}
kernel void given_past_end(ARGS, GIVEN) {
    p[t] = 1;
    q[t + 1] = y[i]; // fault: out-of-bounds
    MEET;
    x[i] = p[t];
}
kernel void own_into_given(ARGS, GIVEN) {
    threadgroup float a[32];
    p[t] = 1; q[t] = 2;
    a[t] = y[i]; // fault: out-of-bounds
    MEET;
    x[i] = p[t] + q[t];
}
kernel void matrix_over_the_end(ARGS) {
    threadgroup float a[64], b[64];
    a[t] = y[i]; b[t] = y[i];
    MEET;
    simdgroup_float8x8 m;
    simdgroup_load(m, a + 8, 8); // fault: out-of-bounds
    simdgroup_float8x8 n;
    simdgroup_load(n, b, 8);
    simdgroup_multiply(m, m, n);
    if (t < 32) simdgroup_store(m, x, 8);
}
kernel void counters(ARGS) {
    threadgroup atomic_uint a[32], b[32];
    if (t < 32) {
        atomic_store_explicit(&a[t], 0, memory_order_relaxed);
        atomic_store_explicit(&b[t], 0, memory_order_relaxed);
    }
    MEET;
    atomic_fetch_add_explicit(&a[t], 1, memory_order_relaxed); // fault: out-of-bounds
    MEET;
    x[i] = atomic_load_explicit(&b[t & 31], memory_order_relaxed);
}
float second(threadgroup const float *a, uint t) {
    return a[t + 1]; // fault: out-of-bounds in helper
}
kernel void helper(ARGS) {
    threadgroup float a[64], b[64];
    a[t] = y[i]; b[t] = y[i];
    MEET;
    x[i] = second(a, t) + b[t];
}
kernel void reduction_too_wide(ARGS) {
    threadgroup float a[64];
    threadgroup float b[64];
    a[t] = y[i]; b[t] = 1;
    for (uint s = 64; s > 0; s >>= 1) {
        MEET;
        if (t < s) a[t] += a[t + s]; // fault: out-of-bounds
    }
    x[i] = a[0] + b[t];
}
