// One buffer bound twice, and buffers the host has not filled: read by all, or each place written by one thread.
// assay: launch --grid 128 --threadgroup 64 --buffer 0=random:f32:128 --buffer 1=same:0 --buffer 2=empty:f32:128 --buffer 3=empty:u32:128
#include <metal_stdlib>
using namespace metal;
#define READ device const float *a [[buffer(0)]], device const float *c [[buffer(1)]]
#define ARGS device float *out [[buffer(2)]], device uint *n [[buffer(3)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]

kernel void both_read(READ, ARGS) {
    out[i] = a[i] + c[127 - i];
}
kernel void product_with_itself(READ, ARGS) {
    float sum = 0;
    for (uint k = 0; k < 8; k++) sum += a[i / 8 * 8 + k] * c[i % 8 * 8 + k];
    out[i] = sum;
}
kernel void in_constant_and_device(constant float *a [[buffer(0)]], device const float *c [[buffer(1)]], ARGS) {
    out[i] = a[i] - c[i];
}
kernel void in_place_by_two_names(device float *a [[buffer(0)]], device const float *c [[buffer(1)]], ARGS) {
    a[i] = c[i] * 2;
}
kernel void restrict_where_nothing_is_written(device const float *__restrict a [[buffer(0)]], device const float *__restrict c [[buffer(1)]], ARGS) {
    out[i] = max(a[i], c[i ^ 1]);
}
kernel void all_written_then_summed(READ, ARGS) {
    out[i] = a[i];
    threadgroup_barrier(mem_flags::mem_device);
    if (t == 0) {
        float sum = 0;
        for (uint k = 0; k < 64; k++) sum += out[i + k];
        out[i] = sum + c[i];
    }
}
kernel void counted_from_where_it_was_set(READ, ARGS) {
    device atomic_uint *count = (device atomic_uint *)n + i / 64;
    if (t == 0) atomic_store_explicit(count, 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_device);
    if (a[i] > c[i ^ 1]) atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_device);
    out[i] = atomic_load_explicit(count, memory_order_relaxed);
}
kernel void only_half_is_used(READ, ARGS) {
    if (i < 64) out[i] = a[i];
    if (i < 64) n[i] = as_type<uint>(out[i] + c[i]);
}
