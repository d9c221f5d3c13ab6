// Tiles: staged, turned, handed on, and products of matrices in simdgroups.
// assay: launch --grid 256 --threadgroup 64 --buffer 0=random:f32:256 --buffer 1=random:f32:256:7 --buffer 2=zeros:u32:256 --buffer 3=zeros:f32:256
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], device uint *z [[buffer(2)]], device float *w [[buffer(3)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]
#define MEET threadgroup_barrier(mem_flags::mem_threadgroup)

kernel void transposed_with_padding(ARGS) {
    threadgroup float s[8][9];
    s[t / 8][t % 8] = y[i];
    MEET;
    w[i] = s[t % 8][t / 8];
}
kernel void reversed_in_place(ARGS) {
    threadgroup float s[64];
    s[t] = y[i];
    MEET;
    if (t < 32) {
        float v = s[t];
        s[t] = s[63 - t];
        s[63 - t] = v;
    }
    MEET;
    w[i] = s[t];
}
kernel void window_with_its_edges(ARGS) {
    threadgroup float s[66];
    s[t + 1] = y[i];
    if (t == 0) s[0] = i > 0 ? y[i - 1] : 0.0f;
    if (t == 63) s[65] = i < 255 ? y[i + 1] : 0.0f;
    MEET;
    w[i] = s[t] + s[t + 1] + s[t + 2];
}
kernel void next_tile_while_this_is_used(ARGS) {
    threadgroup float s[2][64];
    s[0][t] = y[t];
    float sum = 0;
    MEET;
    for (uint k = 0; k < 4; k++) {
        if (k + 1 < 4) s[(k + 1) & 1][t] = y[(k + 1) * 64 + t];
        for (uint j = 0; j < 64; j++) sum += s[k & 1][j];
        MEET;
    }
    w[i] = sum;
}
kernel void ring_of_three(ARGS) {
    threadgroup float s[3][64];
    float sum = 0;
    for (uint k = 0; k < 6; k++) {
        s[k % 3][t] = y[(k * 64 + i) & 255];
        MEET;
        sum += s[k % 3][63 - t];
    }
    w[i] = sum;
}
kernel void next_in_a_register(ARGS) {
    threadgroup float s[64];
    float next = y[t], sum = 0;
    for (uint k = 0; k < 4; k++) {
        MEET;
        s[t] = next;
        if (k < 3) next = y[(k + 1) * 64 + t];
        MEET;
        sum += s[t ^ 5];
    }
    w[i] = sum;
}
kernel void one_loads_the_other_works(ARGS) {
    threadgroup float s[2][32];
    float sum = 0;
    for (uint k = 0; k <= 4; k++) {
        if (simdgroup == 0 && k < 4) s[k & 1][lane] = y[k * 32 + lane];
        if (simdgroup == 1 && k > 0) sum += s[(k - 1) & 1][31 - lane];
        MEET;
    }
    w[i] = sum;
}
kernel void memory_used_twice(ARGS) {
    threadgroup uint s[64];
    ((threadgroup float *)s)[t] = y[i];
    MEET;
    float v = ((threadgroup float *)s)[63 - t];
    MEET;
    s[t] = as_type<uint>(v);
    MEET;
    z[i] = s[t ^ 3];
}
kernel void permuted(ARGS) {
    threadgroup uint to[64];
    threadgroup float s[64];
    to[t] = (t * 37 + 11) & 63;
    s[to[t]] = y[i];
    MEET;
    w[i] = s[to[63 - t]];
}
kernel void four_by_each(ARGS) {
    threadgroup float4 s[16];
    if (t < 16) s[t] = ((device const float4 *)y)[g * 16 + t];
    MEET;
    w[i] = s[t / 4][t % 4];
}
kernel void rows_of_simdgroups(ARGS) {
    threadgroup float s[2][32];
    s[simdgroup][lane] = y[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    float v = s[simdgroup][lane ^ 7];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    s[simdgroup][31 - lane] = v;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    w[i] = s[simdgroup][lane];
}
kernel void until_nothing_changes(ARGS) {
    threadgroup uint label[64];
    threadgroup bool changed;
    label[t] = t;
    do {
        MEET;
        if (t == 0) changed = false;
        MEET;
        uint least = min(label[t], label[(t + 63) & 63]);
        bool lower = least < label[t];
        MEET;
        if (lower) label[t] = least, changed = true;
        MEET;
    } while (changed);
    z[i] = label[t];
}
kernel void whole_groups_leave(ARGS) {
    threadgroup float s[64];
    if (g == 3) return;
    s[t] = y[i];
    MEET;
    w[i] = s[63 - t];
}
kernel void decided_by_all(ARGS) {
    threadgroup uint votes[2];
    bool all = simd_all(y[i] > -2.0f);
    if (lane == 0) votes[simdgroup] = all;
    MEET;
    if (votes[0] && votes[1]) {
        MEET;
        w[i] = 1;
    }
}
kernel void level_by_level(ARGS) {
    // In device memory, within one threadgroup.
    w[i] = y[i];
    for (uint k = 32; k > 0; k >>= 1) {
        threadgroup_barrier(mem_flags::mem_device);
        if (t < k) w[i] += w[i + k];
    }
}
kernel void softmax_of_rows(ARGS) {
    float v = y[i];
    float e = exp(v - simd_max(v));
    w[i] = e / simd_sum(e);
}
kernel void softmax_while_reading(ARGS) {
    float top = -INFINITY, sum = 0;
    for (uint k = lane; k < 64; k += 32) {
        float v = y[g * 64 + k], higher = max(top, v);
        sum = sum * exp(top - higher) + exp(v - higher);
        top = higher;
    }
    float all = simd_max(top);
    sum = simd_sum(sum * exp(top - all));
    w[i] = exp(y[i] - all) / sum;
}
kernel void attention_over_tiles(ARGS) {
    threadgroup float keys[8][8], values[8][8];
    float q[8], out[8] = {}, top = -INFINITY, sum = 0;
    for (uint d = 0; d < 8; d++) q[d] = x[(t * 8 + d) & 255];
    for (uint tile = 0; tile < 2; tile++) {
        MEET;
        keys[t / 8][t % 8] = y[tile * 128 + t];
        values[t / 8][t % 8] = y[tile * 128 + 64 + t];
        MEET;
        for (uint k = 0; k < 8; k++) {
            float score = 0;
            for (uint d = 0; d < 8; d++) score += q[d] * keys[k][d];
            float higher = max(top, score), scale = exp(top - higher), e = exp(score - higher);
            sum = sum * scale + e;
            for (uint d = 0; d < 8; d++) out[d] = out[d] * scale + e * values[k][d];
            top = higher;
        }
    }
    w[i] = out[t & 7] / sum;
}
kernel void product_of_threads(ARGS) {
    threadgroup float a[8][8], b[8][8];
    uint row = t / 8, column = t % 8;
    float sum = 0;
    for (uint k = 0; k < 2; k++) {
        a[row][column] = x[k * 64 + t];
        b[row][column] = y[k * 64 + t];
        MEET;
        for (uint j = 0; j < 8; j++) sum += a[row][j] * b[j][column];
        MEET;
    }
    w[i] = sum;
}
kernel void product_of_matrices(ARGS) {
    simdgroup_float8x8 a, b, c(0.0f);
    for (uint k = 0; k < 2; k++) {
        simdgroup_load(a, y + k * 64, 8);
        simdgroup_load(b, y + 128 + k * 64, 8);
        simdgroup_multiply_accumulate(c, a, b, c);
    }
    if (simdgroup == 0) simdgroup_store(c, w + g * 64, 8);
}
kernel void product_of_staged_tiles(ARGS) {
    threadgroup float s[8 * 12];
    s[t / 8 * 12 + t % 8] = y[i];
    MEET;
    simdgroup_float8x8 a, b;
    simdgroup_load(a, s, 12);
    simdgroup_load(b, s, 12, ulong2(0, 0), true);
    simdgroup_multiply(a, a, b);
    if (simdgroup == 1) simdgroup_store(a, w + g * 64, 8);
}
kernel void product_with_an_end(ARGS) {
    threadgroup float s[64];
    simdgroup_float8x8 a, c;
    simdgroup_load(a, y + g * 64, 8);
    simdgroup_multiply(c, a, a);
    if (simdgroup == 0) simdgroup_store(c, s, 8);
    MEET;
    w[i] = max(s[t], 0.0f);
}
kernel void product_into_one_half_each(ARGS) {
    threadgroup float s[2][64];
    simdgroup_float8x8 a, c;
    simdgroup_load(a, y + simdgroup * 64, 8);
    simdgroup_multiply(c, a, a);
    simdgroup_store(c, s[simdgroup], 8);
    MEET;
    w[i] = s[0][t] + s[1][t];
}
kernel void elements_of_a_matrix(ARGS) {
    simdgroup_float8x8 a = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    a.thread_elements()[0] = y[i];
    a.thread_elements()[1] *= 2;
    if (simdgroup == 0) simdgroup_store(a, w + g * 64, 8);
}
