#pragma once
// softmax(q kᵀ scale) v for one query, by the simdgroups of a threadgroup.
//
// Each simdgroup takes every so-manieth key and keeps a running maximum, a running sum and a running result, which are
// rescaled when the maximum grows; at the end the simdgroups' results are put together. So keys and values are read
// once, and their number is not bounded by threadgroup memory. Each lane holds up to HEAD_PARTS elements of a head, so
// a head has up to 32 HEAD_PARTS = 256 elements.

constant constexpr uint HEAD_PARTS = 8;
// Most simdgroups of a threadgroup here.
constant constexpr uint ATTENTION_SIMDGROUPS = 4;
// Floats of threadgroup memory needed.
constant constexpr uint ATTENTION_MEMORY = ATTENTION_SIMDGROUPS * (32 * HEAD_PARTS + 2);

#define ATTENTION_PARAMETERS                      \
    uint3 group [[threadgroup_position_in_grid]], \
    uint lane [[thread_index_in_simdgroup]],      \
    uint simdgroup [[simdgroup_index_in_threadgroup]]

// The types of the same, for instantiations.
#define ATTENTION_TYPES uint3, uint, uint

// Rows of keys and values are `k_stride` and `v_stride` elements apart.
template <typename T>
inline void attend(device const T *q, device const T *k, device const T *v, device T *y,
                   uint keys, uint size, uint k_stride, uint v_stride, float scale,
                   uint lane, uint simdgroup, threadgroup float *memory) {
    float query[HEAD_PARTS], sum[HEAD_PARTS];
    for (uint j = 0; j < HEAD_PARTS; ++j) {
        uint e = lane + 32 * j;
        query[j] = e < size ? float(q[e]) * scale : 0.0f;
        sum[j] = 0.0f;
    }
    float largest = -INFINITY, total = 0.0f;
    for (uint key = simdgroup; key < keys; key += ATTENTION_SIMDGROUPS) {
        float product = 0.0f;
        for (uint j = 0; j < HEAD_PARTS; ++j) {
            uint e = lane + 32 * j;
            if (e < size) product += query[j] * float(k[key * k_stride + e]);
        }
        product = simd_sum(product);
        float grown = max(largest, product);
        float weight = exp(product - grown);
        float faded = exp(largest - grown);
        largest = grown;
        total = total * faded + weight;
        for (uint j = 0; j < HEAD_PARTS; ++j) {
            uint e = lane + 32 * j;
            if (e < size) sum[j] = sum[j] * faded + weight * float(v[key * v_stride + e]);
        }
    }
    threadgroup float *sums = memory;
    threadgroup float *maxima = memory + ATTENTION_SIMDGROUPS * 32 * HEAD_PARTS;
    threadgroup float *totals = maxima + ATTENTION_SIMDGROUPS;
    for (uint j = 0; j < HEAD_PARTS; ++j) sums[(simdgroup * HEAD_PARTS + j) * 32 + lane] = sum[j];
    if (lane == 0) {
        maxima[simdgroup] = largest;
        totals[simdgroup] = total;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float shift = -INFINITY;
    for (uint s = 0; s < ATTENTION_SIMDGROUPS; ++s) shift = max(shift, maxima[s]);
    float all = 0.0f;
    for (uint s = 0; s < ATTENTION_SIMDGROUPS; ++s) all += totals[s] * exp(maxima[s] - shift);
    for (uint j = simdgroup; j < HEAD_PARTS; j += ATTENTION_SIMDGROUPS) {
        uint e = lane + 32 * j;
        if (e >= size) continue;
        float part = 0.0f;
        for (uint s = 0; s < ATTENTION_SIMDGROUPS; ++s) {
            part += sums[(s * HEAD_PARTS + j) * 32 + lane] * exp(maxima[s] - shift);
        }
        y[e] = T(part / all);
    }
}

// The angle of pair i of `size / 2` at a position: neighbours are rotated by it.
inline float rotary_angle(uint position, uint i, uint size, float base) {
    return float(position) * precise::pow(base, -2.0f * float(i) / float(size));
}

inline float2 rotate(float2 pair, float angle) {
    float c = precise::cos(angle), s = precise::sin(angle);
    return float2(pair.x * c - pair.y * s, pair.x * s + pair.y * c);
}
