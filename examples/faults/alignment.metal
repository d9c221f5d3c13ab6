// Accesses that are not aligned as their type says.
// assay: launch --grid 32 --threadgroup 32 --buffer 0=random:f32:256 --buffer 1=random:f32:256
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]
#define MEET threadgroup_barrier(mem_flags::mem_threadgroup)

kernel void vector_from_floats(ARGS) {
    device const float4 *v = (device const float4 *)(y + 1);
    x[i] = v[i].x; // fault: misaligned
}
kernel void pair_from_floats(ARGS) {
    device const float2 *v = (device const float2 *)(y + i);
    float2 w = *v; // fault: misaligned
    x[i] = w.x + w.y;
}
kernel void word_from_bytes(ARGS) {
    device const uchar *b = (device const uchar *)y;
    uint w = *(device const uint *)(b + i); // fault: misaligned
    x[i] = w;
}
kernel void vector_store(ARGS) {
    *(device float4 *)(x + 4 * i + 2) = float4(1); // fault: misaligned
}
kernel void threadgroup_vector(ARGS) {
    threadgroup float s[160];
    for (uint k = t; k < 160; k += 32) s[k] = y[k];
    MEET;
    float4 v = *(threadgroup float4 *)(s + 4 * t + 1); // fault: misaligned
    x[i] = v.x + v.y + v.z + v.w;
}
kernel void threadgroup_component(ARGS) {
    threadgroup float s[160];
    for (uint k = t; k < 160; k += 32) s[k] = y[k];
    MEET;
    threadgroup float4 *v = (threadgroup float4 *)(s + 2);
    x[i] = v[t].x; // fault: misaligned
}
kernel void threadgroup_store(ARGS) {
    threadgroup float s[160];
    *(threadgroup float2 *)(s + 3 * t) = float2(y[i]); // fault: misaligned
    MEET;
    x[i] = s[3 * t];
}
kernel void threadgroup_words_of_halves(ARGS) {
    threadgroup half s[80];
    for (uint k = t; k < 80; k += 32) s[k] = half(y[k]);
    MEET;
    uint w = *(threadgroup uint *)(s + t); // fault: misaligned
    x[i] = w;
}
kernel void thread_vector(ARGS) {
    float a[16];
    for (uint k = 0; k < 16; k++) a[k] = y[k];
    float4 v = *(thread float4 *)(a + (i & 7)); // fault: misaligned
    x[i] = v.x + v.w;
}
kernel void atomic_of_halves(ARGS) {
    device atomic_uint *n = (device atomic_uint *)((device half *)x + 1);
    atomic_fetch_add_explicit(&n[i], 1, memory_order_relaxed); // fault: misaligned
}
kernel void threadgroup_vector_at_a_known_place(ARGS) {
    threadgroup float s[160];
    for (uint k = t; k < 160; k += 32) s[k] = y[k];
    MEET;
    float4 v = *(threadgroup float4 *)(s + 1); // fault: misaligned
    x[i] = v.x + v.y + v.z + v.w;
}
kernel void threadgroup_store_at_a_known_place(ARGS) {
    threadgroup float s[160];
    for (uint k = t; k < 160; k += 32) s[k] = y[k];
    MEET;
    if (t == 0) *(threadgroup float2 *)(s + 3) = float2(1); // fault: misaligned
    MEET;
    x[i] = s[t];
}
kernel void halves_as_a_vector(ARGS) {
    threadgroup half s[160];
    for (uint k = t; k < 160; k += 32) s[k] = half(y[k]);
    MEET;
    half4 v = ((threadgroup half4 *)(s + 2))[t]; // fault: misaligned
    x[i] = v.x + v.y + v.z + v.w;
}
