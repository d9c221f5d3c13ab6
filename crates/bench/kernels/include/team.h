#pragma once
// The threads of a threadgroup working on one row: reductions over them, and rows read and written four elements at a
// time where the row's length allows it.

#define TEAM_PARAMETERS                                \
    uint3 group [[threadgroup_position_in_grid]],      \
    uint index [[thread_index_in_threadgroup]],        \
    uint3 extent [[threads_per_threadgroup]],          \
    uint lane [[thread_index_in_simdgroup]],           \
    uint simdgroup [[simdgroup_index_in_threadgroup]], \
    uint simdgroups [[simdgroups_per_threadgroup]]

// The types of the same, for instantiations.
#define TEAM_TYPES uint3, uint, uint3, uint, uint, uint

#define TEAM(shared) Team{index, extent.x * extent.y * extent.z, lane, simdgroup, simdgroups, shared}

struct Team {
    uint index, count;
    uint lane, simdgroup, simdgroups;
    threadgroup float *shared;  // 32 floats

    // The first barrier keeps a result that is still being read.
    void share(float value) const {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (lane == 0) shared[simdgroup] = value;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    // The sum over all threads, for all threads.
    float sum(float value) const {
        share(simd_sum(value));
        return simd_sum(lane < simdgroups ? shared[lane] : 0.0f);
    }

    // The largest over all threads, for all threads.
    float largest(float value) const {
        share(simd_max(value));
        return simd_max(lane < simdgroups ? shared[lane] : -INFINITY);
    }

    // The sum of op(x[i]).
    template <typename T, typename Op>
    float sum_of(device const T *x, uint n, Op op) const {
        float s = 0.0f;
        if (n % 4 == 0) {
            device const vec<T, 4> *x4 = (device const vec<T, 4> *)x;
            for (uint q = index; q < n / 4; q += count) {
                float4 a = float4(x4[q]);
                s += (op(a.x) + op(a.y)) + (op(a.z) + op(a.w));
            }
        } else {
            for (uint i = index; i < n; i += count) s += op(float(x[i]));
        }
        return sum(s);
    }

    // The sum of op(x[i], z[i]).
    template <typename T, typename Op>
    float sum_of(device const T *x, device const T *z, uint n, Op op) const {
        float s = 0.0f;
        if (n % 4 == 0) {
            device const vec<T, 4> *x4 = (device const vec<T, 4> *)x;
            device const vec<T, 4> *z4 = (device const vec<T, 4> *)z;
            for (uint q = index; q < n / 4; q += count) {
                float4 a = float4(x4[q]), b = float4(z4[q]);
                s += (op(a.x, b.x) + op(a.y, b.y)) + (op(a.z, b.z) + op(a.w, b.w));
            }
        } else {
            for (uint i = index; i < n; i += count) s += op(float(x[i]), float(z[i]));
        }
        return sum(s);
    }

    // The largest x[i].
    template <typename T>
    float largest_of(device const T *x, uint n) const {
        float m = -INFINITY;
        for (uint i = index; i < n; i += count) m = max(m, float(x[i]));
        return largest(m);
    }

    // y[i] = op(x[i])
    template <typename T, typename Op>
    void each(device const T *x, device T *y, uint n, Op op) const {
        if (n % 4 == 0) {
            device const vec<T, 4> *x4 = (device const vec<T, 4> *)x;
            device vec<T, 4> *y4 = (device vec<T, 4> *)y;
            for (uint q = index; q < n / 4; q += count) {
                float4 a = float4(x4[q]);
                y4[q] = vec<T, 4>(float4(op(a.x), op(a.y), op(a.z), op(a.w)));
            }
        } else {
            for (uint i = index; i < n; i += count) y[i] = T(op(float(x[i])));
        }
    }

    // y[i] = op(x[i], z[i])
    template <typename T, typename Op>
    void each(device const T *x, device const T *z, device T *y, uint n, Op op) const {
        for (uint i = index; i < n; i += count) y[i] = T(op(float(x[i]), float(z[i])));
    }
};

struct Identity {
    float operator()(float x) const { return x; }
};
struct Square {
    float operator()(float x) const { return x * x; }
};
struct Magnitude {
    float operator()(float x) const { return fabs(x); }
};
struct SquareOfDifference {
    float mean;
    float operator()(float x) const { return (x - mean) * (x - mean); }
};
struct Product {
    float operator()(float x, float y) const { return x * y; }
};
// exp(x - shift)
struct ShiftedExponential {
    float shift;
    float operator()(float x) const { return exp(x - shift); }
};
// (x - shift) * factor
struct ShiftAndScale {
    float shift, factor;
    float operator()(float x) const { return (x - shift) * factor; }
};
