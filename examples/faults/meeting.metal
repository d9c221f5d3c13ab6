// Barriers, shuffles and matrix operations without all their threads.
// assay: launch --grid 64 --threadgroup 64 --buffer 0=random:f32:64 --buffer 1=random:f32:64
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]
#define MEET threadgroup_barrier(mem_flags::mem_threadgroup)

kernel void barrier_in_a_branch(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    if (t < 48) {
        MEET; // fault: divergent-barrier
    }
    x[i] = s[t];
}
kernel void barrier_of_one_simdgroup(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    if (t < 32) {
        MEET; // fault: divergent-barrier
    }
    x[i] = s[t];
}
kernel void barrier_after_return(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    if (i >= 60) return;
    MEET; // fault: divergent-barrier
    x[i] = s[t];
}
kernel void barrier_in_an_uneven_loop(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    for (uint k = 0; k < 1 + t / 40; k++) {
        MEET; // fault: divergent-barrier
    }
    x[i] = s[t];
}
void meet() {
    MEET; // fault: divergent-barrier in barrier_in_a_helper
}
kernel void barrier_in_a_helper(ARGS) {
    if (y[i] > 0) meet();
    x[i] = 1;
}
kernel void barrier_in_a_switch(ARGS) {
    switch (t & 1) {
        case 0:
            MEET; // fault: divergent-barrier
            break;
        default:
            x[i] = 2;
    }
    x[i] += 1;
}
kernel void simdgroup_barrier_in_a_branch(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    if (t % 32 < 16) {
        simdgroup_barrier(mem_flags::mem_threadgroup); // fault: divergent-barrier
    }
    x[i] = s[t];
}
kernel void shuffle_from_inactive(ARGS) {
    float v = y[i];
    if (t % 32 < 20)
        v = simd_shuffle(v, 25); // fault: inactive-lane
    x[i] = v;
}
kernel void shuffle_from_beyond(ARGS) {
    x[i] = simd_shuffle(y[i], ushort(t % 32 + 8)); // fault: inactive-lane
}
kernel void broadcast_from_inactive(ARGS) {
    float v = 0;
    if (t % 32 > 3)
        v = simd_broadcast(y[i], 0); // fault: inactive-lane
    x[i] = v;
}
kernel void exchange_in_a_branch(ARGS) {
    float v = y[i];
    if (t & 1)
        v += simd_shuffle_xor(v, 1); // fault: inactive-lane
    x[i] = v;
}
kernel void product_by_half(ARGS) {
    simdgroup_float8x8 m(0), n(1);
    if (t % 32 < 16) {
        simdgroup_multiply(m, n, n); // fault: partial-matrix
    }
    simdgroup_store(m, x, 8);
}
kernel void load_by_some(ARGS) {
    simdgroup_float8x8 m(0);
    if (y[i] > 0) {
        simdgroup_load(m, y, 8); // fault: partial-matrix
    }
    simdgroup_store(m, x, 8);
}
kernel void store_by_one(ARGS) {
    simdgroup_float8x8 m(1);
    if (t == 0)
        simdgroup_store(m, x, 8); // fault: partial-matrix
}
