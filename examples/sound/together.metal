// Threads that work together as libraries do it: reductions, scans, sorts, queues, tiles. Each is ordered by what Metal says.
// assay: launch --grid 256 --threadgroup 64 --buffer 0=random:f32:256 --buffer 1=random:f32:256:7 --buffer 2=zeros:u32:1024 --buffer 3=zeros:f32:256
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], device uint *z [[buffer(2)]], device float *w [[buffer(3)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]
#define MEET threadgroup_barrier(mem_flags::mem_threadgroup)
#define FENCE atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device)
#define RELAXED memory_order_relaxed

// Reductions.
kernel void sum_by_shuffle_down(ARGS) {
    float v = y[i];
    // Lanes near the end read past it; only what the first lane has counts.
    for (ushort k = 16; k > 0; k >>= 1) v += simd_shuffle_down(v, k);
    if (lane == 0) w[i / 32] = v;
}
kernel void sum_by_shuffle_xor(ARGS) {
    float v = y[i];
    for (ushort k = 16; k > 0; k >>= 1) v += simd_shuffle_xor(v, k);
    w[i] = v;
}
kernel void sum_over_quads(ARGS) {
    float v = quad_sum(y[i]);
    v += simd_shuffle_xor(v, 4);
    v += quad_shuffle_xor(v, 1) - v;
    w[i] = v;
}
kernel void largest_and_where(ARGS) {
    float best = y[i];
    uint where = i;
    for (ushort k = 16; k > 0; k >>= 1) {
        float other = simd_shuffle_down(best, k);
        uint from = simd_shuffle_down(where, k);
        if (lane + k < 32 && other > best) best = other, where = from;
    }
    if (lane == 0) z[i / 32] = where, w[i / 32] = best;
}
kernel void tree_down_to_a_simdgroup(ARGS) {
    threadgroup float s[64];
    s[t] = y[i] * y[i];
    MEET;
    if (t < 32) {
        float v = simd_sum(s[t] + s[t + 32]);
        if (t == 0) w[g] = v;
    }
}
kernel void tree_of_strides_apart(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    for (uint k = 1; k < 64; k *= 2) {
        MEET;
        if (t % (2 * k) == 0) s[t] += s[t + k];
    }
    if (t == 0) w[g] = s[0];
}
kernel void mean_and_variance_merged(ARGS) {
    threadgroup float means[2], squares[2];
    float mean = simd_sum(y[i]) / 32;
    float square = simd_sum((y[i] - mean) * (y[i] - mean));
    if (simd_is_first()) means[simdgroup] = mean, squares[simdgroup] = square;
    MEET;
    float between = means[1] - means[0];
    x[i] = (squares[0] + squares[1] + between * between * 16) / 64;
}
kernel void least_and_greatest_of_all(ARGS) {
    uint bits = as_type<uint>(fabs(y[i]));
    atomic_fetch_max_explicit((device atomic_uint *)z, bits, RELAXED);
    atomic_fetch_min_explicit((device atomic_uint *)z + 1, bits, RELAXED);
}
kernel void float_added_to_one_place(ARGS) {
    float v = simd_sum(y[i]);
    if (lane == 0) atomic_fetch_add_explicit((device atomic_float *)w, v, RELAXED);
}
kernel void float_maximum_by_exchange(ARGS) {
    device atomic_uint *best = (device atomic_uint *)z;
    uint known = atomic_load_explicit(best, RELAXED);
    float v = fabs(y[i]);
    while (as_type<float>(known) < v)
        if (atomic_compare_exchange_weak_explicit(best, &known, as_type<uint>(v), RELAXED, RELAXED)) break;
}
kernel void last_group_of_integers(ARGS) {
    threadgroup atomic_uint sum;
    threadgroup bool last;
    if (t == 0) atomic_store_explicit(&sum, 0, RELAXED);
    MEET;
    atomic_fetch_add_explicit(&sum, uint(y[i] > 0), RELAXED);
    MEET;
    if (t == 0) {
        z[16 + g] = atomic_load_explicit(&sum, RELAXED);
        FENCE;
        uint before = atomic_fetch_add_explicit((device atomic_uint *)z, 1, RELAXED);
        FENCE;
        last = before == 3;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    if (last && t == 0) z[1] = z[16] + z[17] + z[18] + z[19];
}

// Scans.
kernel void scan_in_a_simdgroup(ARGS) {
    float v = y[i];
    for (ushort k = 1; k < 32; k <<= 1) {
        float before = simd_shuffle_up(v, k);
        if (lane >= k) v += before;
    }
    w[i] = v;
}
kernel void scan_of_simdgroups(ARGS) {
    threadgroup float totals[2];
    float v = simd_prefix_inclusive_sum(y[i]);
    if (lane == 31) totals[simdgroup] = v;
    MEET;
    w[i] = v + (simdgroup == 1 ? totals[0] : 0.0f);
}
kernel void scan_up_and_down(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    for (uint k = 1; k < 64; k <<= 1) {
        MEET;
        uint at = (t + 1) * 2 * k - 1;
        if (at < 64) s[at] += s[at - k];
    }
    MEET;
    if (t == 0) s[63] = 0;
    for (uint k = 32; k > 0; k >>= 1) {
        MEET;
        uint at = (t + 1) * 2 * k - 1;
        if (at < 64) {
            float left = s[at - k];
            s[at - k] = s[at];
            s[at] += left;
        }
    }
    MEET;
    w[i] = s[t];
}
kernel void scan_with_two_barriers(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    for (uint k = 1; k < 64; k <<= 1) {
        float before = t >= k ? s[t - k] : 0.0f;
        MEET;
        s[t] += before;
        MEET;
    }
    w[i] = s[t];
}
kernel void scan_of_segments(ARGS) {
    float v = y[i];
    bool head = lane == 0 || y[i] > 0.9f;
    for (ushort k = 1; k < 32; k <<= 1) {
        float before = simd_shuffle_up(v, k);
        bool heads = simd_shuffle_up(ushort(head), k);
        if (lane >= k && !head) v += before, head = heads;
    }
    w[i] = v;
}
kernel void scan_that_looks_back(ARGS) {
    device atomic_uint *state = (device atomic_uint *)z;
    threadgroup uint part, before;
    if (t == 0) part = atomic_fetch_add_explicit(state, 1, RELAXED);
    MEET;
    float sum = simd_sum(y[part * 64 + t]);
    threadgroup float halves[2];
    if (lane == 0) halves[simdgroup] = sum;
    MEET;
    if (t == 0) {
        float known = 0;
        // A ticket is only drawn after all before it: they run, and end.
        if (part > 0) {
            while (atomic_load_explicit(state + part, RELAXED) == 0) {}
            FENCE;
            known = w[part - 1];
        }
        w[part] = known + halves[0] + halves[1];
        FENCE;
        atomic_store_explicit(state + part + 1, 1, RELAXED);
        before = as_type<uint>(known);
    }
    MEET;
    x[part * 64 + t] = as_type<float>(before);
}

// Compaction, queues and tables.
kernel void compaction_by_ballot(ARGS) {
    bool wanted = y[i] > 0.5f;
    ulong all = (ulong)simd_ballot(wanted);
    uint from = 0;
    if (lane == 0) from = atomic_fetch_add_explicit((device atomic_uint *)z, popcount(all), RELAXED);
    from = simd_broadcast_first(from);
    if (wanted) w[from + popcount(all & ((1ul << lane) - 1))] = y[i];
}
kernel void compaction_by_scan(ARGS) {
    threadgroup uint counts[2], from;
    uint wanted = y[i] > 0.5f;
    uint rank = simd_prefix_exclusive_sum(wanted);
    if (lane == 31) counts[simdgroup] = rank + wanted;
    MEET;
    if (t == 0) from = atomic_fetch_add_explicit((device atomic_uint *)z, counts[0] + counts[1], RELAXED);
    MEET;
    if (wanted) w[from + rank + (simdgroup == 1 ? counts[0] : 0)] = y[i];
}
kernel void queue_of_the_group(ARGS) {
    threadgroup uint queue[64];
    threadgroup atomic_uint length;
    if (t == 0) atomic_store_explicit(&length, 0, RELAXED);
    MEET;
    if (y[i] > 0.25f) queue[atomic_fetch_add_explicit(&length, 1, RELAXED)] = i;
    MEET;
    uint n = atomic_load_explicit(&length, RELAXED);
    for (uint k = t; k < n; k += 64) w[queue[k]] = 1;
}
kernel void queue_of_atomics(ARGS) {
    device atomic_uint *queue = (device atomic_uint *)z;
    uint at = atomic_fetch_add_explicit(queue, 1, RELAXED);
    atomic_store_explicit(queue + 1 + at, i + 1, RELAXED);
    uint other = atomic_load_explicit(queue + 1 + (at ^ 1), RELAXED);
    w[i] = other;
}
kernel void tickets(ARGS) {
    while (true) {
        uint at = atomic_fetch_add_explicit((device atomic_uint *)z, 1, RELAXED);
        if (at >= 256) break;
        w[at] = y[at] * 2;
    }
}
kernel void tickets_of_the_group(ARGS) {
    threadgroup uint task;
    while (true) {
        MEET;
        if (t == 0) task = atomic_fetch_add_explicit((device atomic_uint *)z, 1, RELAXED);
        MEET;
        uint mine = task;
        if (mine >= 4) break;
        w[mine * 64 + t] = y[mine * 64 + t];
    }
}
kernel void hash_table(ARGS) {
    device atomic_uint *table = (device atomic_uint *)z;
    uint key = as_type<uint>(y[i]) | 1;
    uint at = key * 2654435761u >> 22;
    for (uint tries = 0; tries < 1024; tries++, at = (at + 1) & 1023) {
        uint known = 0;
        while (known == 0)
            if (atomic_compare_exchange_weak_explicit(table + at, &known, key, RELAXED, RELAXED)) return;
        if (known == key) return;
    }
}
kernel void list_of_nodes(ARGS) {
    device atomic_uint *head = (device atomic_uint *)z + (as_type<uint>(y[i]) & 7);
    // The next of each node is its thread's.
    z[16 + i] = atomic_exchange_explicit(head, i + 1, RELAXED);
}
kernel void first_to_come(ARGS) {
    uint known = 0;
    device atomic_uint *owner = (device atomic_uint *)z + i / 8;
    bool first = false;
    while (known == 0 && !first) first = atomic_compare_exchange_weak_explicit(owner, &known, i + 1, RELAXED, RELAXED);
    if (first) w[i / 8] = y[i];
}
kernel void histogram_of_each_simdgroup(ARGS) {
    threadgroup atomic_uint bins[2][16];
    if (lane < 16) atomic_store_explicit(&bins[simdgroup][lane], 0, RELAXED);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&bins[simdgroup][uint(fabs(y[i]) * 8) & 15], 1, RELAXED);
    MEET;
    if (t < 16) {
        uint n = atomic_load_explicit(&bins[0][t], RELAXED) + atomic_load_explicit(&bins[1][t], RELAXED);
        atomic_fetch_add_explicit((device atomic_uint *)z + t, n, RELAXED);
    }
}
kernel void flags_of_a_bitmap(ARGS) {
    threadgroup atomic_uint bits[2];
    if (t < 2) atomic_store_explicit(&bits[t], 0, RELAXED);
    MEET;
    if (y[i] > 0.5f) atomic_fetch_or_explicit(&bits[t / 32], 1u << (t % 32), RELAXED);
    MEET;
    z[i] = atomic_load_explicit(&bits[1 - t / 32], RELAXED) >> (t % 32) & 1;
}

// Sorts.
kernel void bitonic_of_the_group(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    for (uint size = 2; size <= 64; size <<= 1)
        for (uint k = size / 2; k > 0; k >>= 1) {
            MEET;
            uint other = t ^ k;
            if (other > t && ((t & size) == 0) == (s[t] > s[other])) {
                float v = s[t];
                s[t] = s[other];
                s[other] = v;
            }
        }
    MEET;
    w[i] = s[t];
}
kernel void bitonic_of_a_simdgroup(ARGS) {
    float v = y[i];
    for (ushort size = 2; size <= 32; size <<= 1)
        for (ushort k = size / 2; k > 0; k >>= 1) {
            float other = simd_shuffle_xor(v, k);
            bool low = ((lane & k) == 0) == ((lane & size) == 0);
            v = low ? min(v, other) : max(v, other);
        }
    w[i] = v;
}
kernel void by_rank(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    uint rank = 0;
    for (uint k = 0; k < 64; k++) rank += s[k] < s[t] || (s[k] == s[t] && k < t);
    w[g * 64 + rank] = s[t];
}
kernel void by_one_bit(ARGS) {
    threadgroup float s[64];
    threadgroup uint zeros[2];
    float v = y[i];
    uint bit = as_type<uint>(v) & 1;
    uint rank = simd_prefix_exclusive_sum(1 - bit);
    if (lane == 31) zeros[simdgroup] = rank + 1 - bit;
    MEET;
    rank += simdgroup == 1 ? zeros[0] : 0;
    s[bit == 0 ? rank : zeros[0] + zeros[1] + t - rank] = v;
    MEET;
    w[i] = s[t];
}
kernel void odd_and_even(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    for (uint turn = 0; turn < 64; turn++) {
        MEET;
        uint at = 2 * t + (turn & 1);
        if (at + 1 < 64 && s[at] > s[at + 1]) {
            float v = s[at];
            s[at] = s[at + 1];
            s[at + 1] = v;
        }
    }
    MEET;
    w[i] = s[t];
}
