// Kernels that look as if they raced, and do not: what orders their accesses is a fence, a barrier that made a read be
// done, or that nothing comes of the number read.
// assay: launch --grid 256 --threadgroup 64 --buffer 0=random:f32:256 --buffer 1=random:f32:256 --buffer 2=zeros:u32:256
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], device uint *z [[buffer(2)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]
#define MEET threadgroup_barrier(mem_flags::mem_threadgroup)
#define FENCE atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device)

// The last threadgroup to finish sums what all have left.
kernel void last_group_sums(ARGS) {
    threadgroup bool last;
    if (t == 0) {
        x[g] = y[i] + y[i + 1];
        FENCE;
        last = atomic_fetch_add_explicit((device atomic_uint *)z, 1, memory_order_relaxed) == 3;
        FENCE;
    }
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    if (last && t < 4) z[16 + t] = uint(t) + uint(x[t] > 0.0f);
}
// The same where every thread has left something: a barrier before the fence.
kernel void last_group_reads_all(ARGS) {
    threadgroup bool last;
    x[i] = y[i] * 2;
    threadgroup_barrier(mem_flags::mem_device);
    if (t == 0) {
        FENCE;
        last = atomic_fetch_add_explicit((device atomic_uint *)z, 1, memory_order_relaxed) == 3;
        FENCE;
    }
    MEET;
    if (last) z[8 + t] = uint(x[t] + x[t + 64] + x[t + 128] + x[t + 192] > 0.0f);
}
// Every thread fences what it has written itself, and again after the count.
kernel void last_group_all_fence(ARGS) {
    threadgroup uint count;
    x[i] = y[i] + 1;
    FENCE;
    threadgroup_barrier(mem_flags::mem_device);
    if (t == 0) {
        FENCE;
        count = atomic_fetch_add_explicit((device atomic_uint *)z, 1, memory_order_relaxed);
    }
    MEET;
    FENCE;
    if (count == 3) z[8 + t] = uint(x[t] + x[t + 192] > 0.0f);
}
// Each threadgroup leaves a total for the next, with a flag.
kernel void flag_after_fence(ARGS) {
    device atomic_uint *flags = (device atomic_uint *)(z + 16);
    if (t == 0) {
        float before = 0;
        if (g > 0 && atomic_load_explicit(flags + g - 1, memory_order_relaxed) == 1) {
            FENCE;
            before = x[g - 1];
        }
        x[g] = before + y[i];
        FENCE;
        atomic_store_explicit(flags + g, 1u, memory_order_relaxed);
    }
}
// In place: every thread has stored what it read before any writes.
kernel void normalised_in_place(ARGS) {
    threadgroup float s[64];
    s[t] = x[(t + 1) % 64 + 64 * g];
    MEET;
    x[i] = s[t] * 2;
}
// A sum that all threads need is done before the barrier.
kernel void summed_in_place(ARGS) {
    threadgroup float s[2];
    float sum = 0;
    for (uint k = lane; k < 64; k += 32) sum += x[64 * g + k];
    sum = simd_sum(sum);
    if (lane == 0) s[t / 32] = sum;
    MEET;
    x[i] = s[0] + s[1];
}
// A branch has read what is written after the barrier.
kernel void decided_in_place(ARGS) {
    threadgroup uint count[64];
    count[t] = 0;
    if (x[(t + 7) % 64 + 64 * g] > 0) count[t] = 1;
    MEET;
    x[i] = count[63 - t];
}
