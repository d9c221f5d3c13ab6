// Threads that touch the same memory, of which one writes, and nothing orders them.
// assay: launch --grid 128 --threadgroup 64 --buffer 0=random:f32:128 --buffer 1=random:f32:128:7 --buffer 2=zeros:f32:128
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], device float *z [[buffer(2)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]]
#define MEET threadgroup_barrier(mem_flags::mem_threadgroup)

kernel void no_barrier(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    x[i] = s[63 - t]; // fault: race
}
kernel void no_second_barrier(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    float v = s[63 - t];
    s[t] = v * 2; // fault: race
    MEET;
    x[i] = s[t];
}
kernel void wrong_memory(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = s[63 - t]; // fault: race
}
kernel void no_memory(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    threadgroup_barrier(mem_flags::mem_none);
    x[i] = s[63 - t]; // fault: race
}
kernel void only_the_simdgroup(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[63 - t]; // fault: race
}
kernel void lockstep(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    x[i] = s[t ^ 1]; // fault: race
}
kernel void reduction(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    for (uint k = 32; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k]; // fault: race
    }
    x[i] = s[0];
}
kernel void result_read_early(ARGS) {
    threadgroup float s;
    float v = simd_sum(y[i]);
    if (t == 0) s = v;
    x[i] = s; // fault: race
}
kernel void tile_in_a_loop(ARGS) {
    threadgroup float s[64];
    float sum = 0;
    for (uint k = 0; k < 2; k++) {
        s[t] = y[(i + k) & 127]; // fault: race
        MEET;
        sum += s[63 - t];
    }
    x[i] = sum;
}
kernel void two_write_one(ARGS) {
    threadgroup float s[32];
    s[t / 2] = y[i]; // fault: race
    MEET;
    x[i] = s[t / 2];
}
kernel void lost_update(ARGS) {
    threadgroup float s;
    if (t == 0) s = 0;
    MEET;
    s += y[i]; // fault: race
    MEET;
    x[i] = s;
}
kernel void plain_beside_atomic(ARGS) {
    threadgroup atomic_uint n;
    if (t == 0) atomic_store_explicit(&n, 0, memory_order_relaxed);
    MEET;
    atomic_fetch_add_explicit(&n, 1, memory_order_relaxed);
    x[i] = *(threadgroup uint *)&n; // fault: race
}
kernel void device_neighbour(ARGS) {
    x[i] = y[i];
    z[i] = x[i ^ 1]; // fault: race
}
kernel void in_place_shift(ARGS) {
    if (t < 63)
        x[i] = x[i + 1]; // fault: race
}
kernel void device_counter(ARGS) {
    x[g * 64] += y[i]; // fault: race
}
kernel void across_groups(ARGS) {
    x[i] = y[i];
    z[i] = x[i ^ 64]; // fault: group-race
}
kernel void all_groups_write_one(ARGS) {
    if (t == 0) x[0] = g; // fault: group-race
}
kernel void groups_overlap(ARGS) {
    x[g * 63 + t] = y[i]; // fault: group-race
}
kernel void read_what_another_group_adds(ARGS) {
    device atomic_uint *n = (device atomic_uint *)z;
    if (g == 1 && t == 0) atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
    if (g == 0 && t == 0) z[0] = 1; // fault: group-race
}
void step(threadgroup float *s, uint t, uint k) {
    s[t] = s[t] + s[(t + k) & 63]; // fault: race in helper
}
kernel void helper(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    step(s, t, 5);
    MEET;
    x[i] = s[t];
}
kernel void equal_neighbour(ARGS) {
    z[i] = z[i ^ 1]; // fault: equal-race
}
kernel void equal_counter(ARGS) {
    float v = z[g * 64];
    z[g * 64] = v + z[i]; // fault: equal-race
}
kernel void equal_tile(ARGS) {
    threadgroup float s[64];
    s[t] = 0;
    MEET;
    float v = s[63 - t];
    s[t] = v * z[i]; // fault: equal-race
    MEET;
    x[i] = s[t];
}
kernel void plain_store_beside_atomic(ARGS) {
    threadgroup atomic_uint n;
    if (t == 0) atomic_store_explicit(&n, 0, memory_order_relaxed);
    MEET;
    if (t == 40) *(threadgroup uint *)&n = 7; // fault: race
    atomic_fetch_add_explicit(&n, 1, memory_order_relaxed);
    MEET;
    x[i] = atomic_load_explicit(&n, memory_order_relaxed);
}
kernel void plain_store_beside_atomic_in_device_memory(ARGS) {
    device atomic_uint *n = (device atomic_uint *)z;
    if (t == 1) *(device uint *)(z + g) = 3; // fault: race
    atomic_fetch_max_explicit(n + g, i, memory_order_relaxed);
}
kernel void initialised_by_all(ARGS) {
    threadgroup atomic_uint n;
    atomic_init(&n, 0u); // fault: race
    atomic_fetch_add_explicit(&n, 1, memory_order_relaxed);
    MEET;
    x[i] = atomic_load_explicit(&n, memory_order_relaxed);
}
kernel void initialised_without_a_barrier(ARGS) {
    threadgroup atomic_uint n;
    if (t == 0) atomic_init(&n, 0u); // fault: race
    atomic_fetch_add_explicit(&n, 1, memory_order_relaxed);
    MEET;
    x[i] = atomic_load_explicit(&n, memory_order_relaxed);
}
kernel void atomics_of_two_widths(ARGS) {
    threadgroup ulong n;
    if (t == 0) n = 0;
    MEET;
    if (t < 32)
        atomic_fetch_add_explicit((threadgroup atomic_uint *)&n, 1, memory_order_relaxed);
    else
        atomic_max_explicit((threadgroup atomic_ulong *)&n, ulong(t), memory_order_relaxed); // fault: race
    MEET;
    x[i] = n;
}
kernel void atomics_of_two_widths_in_groups(ARGS) {
    if (g == 0)
        atomic_fetch_add_explicit((device atomic_uint *)z, 1, memory_order_relaxed);
    else
        atomic_max_explicit((device atomic_ulong *)z, ulong(t), memory_order_relaxed); // fault: group-race
}
kernel void last_group_without_a_fence(ARGS) {
    threadgroup bool last;
    x[i] = y[i];
    threadgroup_barrier(mem_flags::mem_device);
    if (t == 0) last = atomic_fetch_add_explicit((device atomic_uint *)z, 1, memory_order_relaxed) == 1;
    MEET;
    if (last) z[1 + t % 8] = x[t]; // fault: group-race
}
kernel void last_group_that_only_acquires(ARGS) {
    threadgroup bool last;
    x[i] = y[i];
    threadgroup_barrier(mem_flags::mem_device);
    if (t == 0) {
        last = atomic_fetch_add_explicit((device atomic_uint *)z, 1, memory_order_relaxed) == 1;
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    }
    MEET;
    if (last) z[1 + t % 8] = x[t]; // fault: group-race
}
kernel void read_put_off(ARGS) {
    float v = x[(t + 1) % 64 + 64 * g];
    MEET;
    x[i] = 1; // fault: race
    z[i] = v;
}
