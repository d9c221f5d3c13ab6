#pragma once
// Running sums and products along a row, by one threadgroup: each thread takes four neighbours, simdgroups scan the
// threads' totals, the threadgroup scans the simdgroups' totals, and the total is carried to the next stretch.

struct Sums {
    static float identity() { return 0.0f; }
    static float combine(float a, float b) { return a + b; }
    static float before(float value) { return simd_prefix_exclusive_sum(value); }
    static float total(float value) { return simd_sum(value); }
};

struct Products {
    static float identity() { return 1.0f; }
    static float combine(float a, float b) { return a * b; }
    static float before(float value) { return simd_prefix_exclusive_product(value); }
    static float total(float value) { return simd_product(value); }
};

// load(i) gives element i; store(i, before, upto) gets what comes before it, and that with element i.
template <typename Kind, typename Load, typename Store>
inline void scan_row(uint n, uint index, uint count, uint lane, uint simdgroup, uint simdgroups,
                     threadgroup float *shared, Load load, Store store) {
    float carry = Kind::identity();
    for (uint start = 0; start < n; start += 4 * count) {
        uint first = start + 4 * index;
        float own[4];
        float sum = Kind::identity();
        for (uint j = 0; j < 4; ++j) {
            own[j] = first + j < n ? load(first + j) : Kind::identity();
            sum = Kind::combine(sum, own[j]);
        }
        float before = Kind::before(sum);
        float total = Kind::total(sum);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (lane == 0) shared[simdgroup] = total;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float others = lane < simdgroups ? shared[lane] : Kind::identity();
        float earlier = simd_shuffle(Kind::before(others), ushort(simdgroup));
        float running = Kind::combine(carry, Kind::combine(earlier, before));
        for (uint j = 0; j < 4; ++j) {
            float upto = Kind::combine(running, own[j]);
            if (first + j < n) store(first + j, running, upto);
            running = upto;
        }
        carry = Kind::combine(carry, Kind::total(others));
    }
}
