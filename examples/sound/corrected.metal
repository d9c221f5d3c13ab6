// Kernels of examples/faults as they should be: a barrier more, a narrower index, a value given first.
// assay: launch --grid 128 --threadgroup 64 --buffer 0=random:f32:128 --buffer 1=random:f32:128:7 --buffer 2=zeros:f32:128 --tgmem 0=256
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], device float *z [[buffer(2)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]
#define MEET threadgroup_barrier(mem_flags::mem_threadgroup)

struct State { float sum; float peak; uint count; };
struct Block { float scales[4]; float values[12]; };

kernel void mirrored(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    x[i] = s[63 - t];
}
kernel void two_barriers(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    float v = s[63 - t];
    MEET;
    s[t] = v * 2;
    MEET;
    x[i] = s[63 - t];
}
kernel void a_simdgroup_is_enough(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[t ^ 1];
}
kernel void by_shuffle(ARGS) {
    x[i] = simd_shuffle_xor(y[i], 1);
}
kernel void halving(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    for (uint k = 32; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        MEET;
    }
    x[i] = s[0];
}
kernel void halving_down_to_a_simdgroup(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    if (t < 32) s[t] += s[t + 32];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 32) z[g * 64 + t] = simd_sum(s[t]);
}
kernel void sum_of_simdgroups(ARGS) {
    threadgroup float parts[2];
    float v = simd_sum(y[i]);
    if (lane == 0) parts[simdgroup] = v;
    MEET;
    x[i] = parts[0] + parts[1];
}
kernel void doubling_between_two_tiles(ARGS) {
    threadgroup float s[2][64];
    uint from = 0;
    s[0][t] = y[i];
    MEET;
    for (uint k = 1; k < 64; k <<= 1) {
        s[1 - from][t] = s[from][t] + (t >= k ? s[from][t - k] : 0.0f);
        from = 1 - from;
        MEET;
    }
    x[i] = s[from][t];
}
kernel void tile_in_a_loop(ARGS) {
    threadgroup float s[64];
    float sum = 0;
    for (uint k = 0; k < 2; k++) {
        s[t] = y[(i + k) & 127];
        MEET;
        sum += s[63 - t];
        MEET;
    }
    x[i] = sum;
}
kernel void two_tiles_by_turns(ARGS) {
    threadgroup float s[2][64];
    float sum = 0;
    for (uint k = 0; k < 4; k++) {
        s[k & 1][t] = y[(i + k) & 127];
        MEET;
        sum += s[k & 1][63 - t];
    }
    x[i] = sum;
}
kernel void one_of_two_writes(ARGS) {
    threadgroup float s[32];
    if (t % 2 == 0) s[t / 2] = y[i];
    MEET;
    x[i] = s[t / 2];
}
kernel void counted_atomically(ARGS) {
    threadgroup atomic_uint n;
    if (t == 0) atomic_store_explicit(&n, 0, memory_order_relaxed);
    MEET;
    if (y[i] > 0) atomic_fetch_add_explicit(&n, 1, memory_order_relaxed);
    MEET;
    x[i] = atomic_load_explicit(&n, memory_order_relaxed);
}
kernel void read_plainly_after_a_barrier(ARGS) {
    threadgroup atomic_uint n;
    if (t == 0) atomic_store_explicit(&n, 0, memory_order_relaxed);
    MEET;
    atomic_fetch_max_explicit(&n, t, memory_order_relaxed);
    MEET;
    x[i] = *(threadgroup uint *)&n;
}
kernel void initialised_by_one(ARGS) {
    threadgroup atomic_uint n;
    if (t == 63) atomic_init(&n, 0u);
    MEET;
    atomic_fetch_add_explicit(&n, 1, memory_order_relaxed);
    MEET;
    x[i] = atomic_load_explicit(&n, memory_order_relaxed);
}
kernel void histogram(ARGS) {
    threadgroup atomic_uint bins[16];
    if (t < 16) atomic_store_explicit(&bins[t], 0, memory_order_relaxed);
    MEET;
    atomic_fetch_add_explicit(&bins[uint(fabs(y[i]) * 4) & 15], 1, memory_order_relaxed);
    MEET;
    if (t < 16) atomic_fetch_add_explicit((device atomic_uint *)z + t, atomic_load_explicit(&bins[t], memory_order_relaxed), memory_order_relaxed);
}
kernel void widths_side_by_side(ARGS) {
    threadgroup ulong n[2];
    if (t < 2) n[t] = 0;
    MEET;
    if (t < 32)
        atomic_fetch_add_explicit((threadgroup atomic_uint *)&n[0], 1, memory_order_relaxed);
    else
        atomic_max_explicit((threadgroup atomic_ulong *)&n[1], ulong(t), memory_order_relaxed);
    MEET;
    x[i] = n[0] + n[1];
}
kernel void neighbour_of_the_input(ARGS) {
    x[i] = y[i];
    z[i] = y[i ^ 1];
}
kernel void neighbour_after_a_barrier(ARGS) {
    x[i] = y[i];
    threadgroup_barrier(mem_flags::mem_device);
    z[i] = x[i ^ 1];
}
kernel void shift_in_place(ARGS) {
    float v = t < 63 ? x[i + 1] : 0.0f;
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = v;
}
kernel void one_writes_for_all(ARGS) {
    float v = simd_sum(y[i]);
    if (t == 0) x[g * 64] += v;
}
kernel void one_group_writes(ARGS) {
    if (i == 0) x[0] = g + 1;
}
kernel void groups_side_by_side(ARGS) {
    x[g * 64 + t] = y[i];
}
kernel void groups_add_atomically(ARGS) {
    atomic_fetch_add_explicit((device atomic_float *)z, y[i], memory_order_relaxed);
}
kernel void equal_lanes_agree(ARGS) {
    if (simd_any(y[i] > 0)) z[g * 64 + simdgroup * 32 + lane] = 1;
}
kernel void barrier_outside_the_branch(ARGS) {
    threadgroup float s[64];
    if (t < 48) s[t] = y[i];
    MEET;
    x[i] = t < 48 ? s[47 - t] : 0.0f;
}
kernel void return_after_the_barrier(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    if (t >= 60) return;
    x[i] = s[t + 4];
}
kernel void even_loop(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    for (uint k = 0; k < 3; k++) {
        MEET;
        float v = s[(t + 1) & 63];
        MEET;
        s[t] = v;
    }
    x[i] = s[t];
}
kernel void branch_of_the_whole_group(ARGS) {
    threadgroup float s[64];
    if (g == 0) {
        s[t] = y[i];
        MEET;
        x[i] = s[63 - t];
    }
}
void swap_sides(threadgroup float *s, uint t) {
    float v = s[63 - t];
    MEET;
    s[t] = v;
}
kernel void barrier_in_a_helper(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    swap_sides(s, t);
    MEET;
    x[i] = s[t];
}
kernel void simdgroup_barrier_of_one_simdgroup(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    if (simdgroup == 0) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        x[i] = s[31 - t];
    }
}
kernel void shuffle_before_the_branch(ARGS) {
    float v = simd_shuffle_down(y[i], 1);
    if (lane < 31) x[i] = v;
}
kernel void shuffle_among_active_lanes(ARGS) {
    if (lane < 16) x[i] = simd_shuffle(y[i], ushort(15 - lane));
}
kernel void matrix_of_all_lanes(ARGS) {
    simdgroup_float8x8 a, b, c = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    simdgroup_load(a, y, 8);
    simdgroup_load(b, y + 64, 8);
    simdgroup_multiply_accumulate(c, a, b, c);
    if (i < 32) simdgroup_store(c, z, 8);
}
kernel void matrix_by_the_first_simdgroup(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    if (simdgroup == 0) {
        simdgroup_float8x8 m;
        simdgroup_load(m, s, 8);
        simdgroup_store(m, x + g * 64, 8);
    }
}
kernel void small_integer(ARGS) {
    uchar c = 0;
    c += uchar(t);
    x[i] = c + 1;
}
kernel void every_branch_gives_it(ARGS) {
    uint at;
    if (i & 1) at = 3;
    else at = i / 2;
    x[i] = y[at];
}
kernel void given_in_the_first_turn(ARGS) {
    float last;
    for (uint k = 0; k < 4; k++) {
        if (k == 0) last = y[i];
        else last += y[k];
    }
    x[i] = last;
}
kernel void given_by_reference(ARGS) {
    State s;
    s.sum = s.peak = y[i];
    s.count = 1;
    thread State &same = s;
    same.count += 1;
    x[i] = s.sum * s.count + s.peak;
}
kernel void only_what_was_given(ARGS) {
    State s;
    s.sum = y[i];
    State copy = s;
    x[i] = copy.sum;
}
kernel void components_given_one_by_one(ARGS) {
    float4 v;
    for (uint k = 0; k < 4; k++) v[k] = y[(i + k) & 127];
    x[i] = dot(v, float4(1));
}
kernel void columns_given_one_by_one(ARGS) {
    float3x3 m;
    for (uint k = 0; k < 3; k++) m[k] = float3(y[k], y[k + 1], y[k + 2]);
    x[i] = (m * float3(1)).y;
}
kernel void unused_and_unset(ARGS) {
    float v;
    if (y[i] > 1000) v = 1;
    x[i] = y[i] > 1000 ? v : 0.0f;
}
kernel void half_filled_half_read(ARGS) {
    threadgroup float s[64];
    if (t < 32) s[t] = y[i];
    MEET;
    x[i] = s[t & 31];
}
kernel void given_memory(ARGS, threadgroup float *s [[threadgroup(0)]]) {
    s[t] = y[i];
    MEET;
    x[i] = s[(t + 7) & 63];
}
kernel void whole_rows(ARGS) {
    threadgroup float tile[8][9];
    tile[t / 8][t % 8] = y[i];
    MEET;
    x[i] = tile[t % 8][t / 8];
}
kernel void last_of_a_row(ARGS) {
    float m[3][3] = {};
    for (uint k = 0; k < 3; k++) m[1][k] = y[k];
    x[i] = m[1][t % 3] + m[2][2];
}
kernel void members_to_their_ends(ARGS) {
    Block b = {};
    for (uint k = 0; k < 4; k++) b.scales[k] = y[k];
    for (uint k = 0; k < 12; k++) b.values[k] = y[k] * b.scales[k / 3];
    x[i] = b.values[t % 12];
}
kernel void members_in_threadgroup_memory(ARGS) {
    threadgroup Block b[4];
    if (t < 48) b[t / 12].values[t % 12] = y[i];
    if (t < 16) b[t / 4].scales[t % 4] = 1;
    MEET;
    x[i] = b[t % 4].scales[t % 3 + 1] + b[3].values[11];
}
kernel void a_struct_as_floats(ARGS) {
    device const float *all = (device const float *)((device const Block *)y + t % 8);
    float sum = 0;
    for (uint k = 0; k < 16; k++) sum += all[k];
    x[i] = sum;
}
kernel void guarded(ARGS) {
    if (i + 1 < 128) x[i] = y[i + 1];
}
kernel void clamped(ARGS) {
    x[i] = y[clamp(int(i) - 2, 0, 127)];
}
kernel void last_element(ARGS) {
    x[127 - i] = y[127];
}
kernel void past_the_end_by_address_only(ARGS) {
    device const float *end = y + 128;
    float sum = 0;
    for (device const float *at = y + i; at < end; at += 64) sum += *at;
    x[i] = sum;
}
kernel void vectors_where_they_are_aligned(ARGS) {
    device const float4 *v = (device const float4 *)y;
    x[i] = dot(v[i / 4], float4(1));
}
kernel void packed_where_they_are_not(ARGS) {
    device const packed_float4 *v = (device const packed_float4 *)(y + i % 4);
    x[i] = v[i / 8][0];
}
kernel void vectors_in_threadgroup_memory(ARGS) {
    threadgroup float4 s[16];
    ((threadgroup float *)s)[t] = y[i];
    MEET;
    x[i] = s[t / 4][t % 4];
}
kernel void divisor_tested(ARGS) {
    int d = int(t) - 20;
    z[i] = d != 0 ? float(1000 / d) : 0.0f;
}
kernel void smallest_by_minus_one_avoided(ARGS) {
    int d = t % 2 == 0 ? -1 : 1;
    z[i] = float((INT_MIN + 1) / d);
}
kernel void shift_within_the_width(ARGS) {
    z[i] = float(1u << (t & 31));
}
kernel void conversion_within_the_range(ARGS) {
    z[i] = uchar(clamp(fabs(y[i]) * 100, 0.0f, 255.0f));
}
kernel void pointer_to_what_still_lives(ARGS) {
    float values[4] = {y[i], 1, 2, 3};
    thread float *p = values;
    for (uint k = 0; k < 4; k++) {
        float more[2] = {values[k], 1};
        p = k % 2 == 0 ? more : values;
        x[i] = *p;
        p = values;
    }
    z[i] = *p;
}
