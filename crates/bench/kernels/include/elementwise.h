#pragma once
// Functions of single elements over whole arrays: thread i of `stride` takes four elements at a time, and the last
// up to three elements go to the first threads. Arrays start at multiples of 16 bytes.

template <typename Op>
inline void each_of_one(device const float *x, device float *y, uint n, uint i, uint stride, Op op) {
    device const float4 *x4 = (device const float4 *)x;
    device float4 *y4 = (device float4 *)y;
    for (uint q = i; q < n / 4; q += stride) {
        float4 a = x4[q];
        y4[q] = float4(op(a.x), op(a.y), op(a.z), op(a.w));
    }
    for (uint e = n / 4 * 4 + i; e < n; e += stride) y[e] = op(x[e]);
}

template <typename Op>
inline void each_of_two(device const float *x, device const float *z, device float *y,
                        uint n, uint i, uint stride, Op op) {
    device const float4 *x4 = (device const float4 *)x;
    device const float4 *z4 = (device const float4 *)z;
    device float4 *y4 = (device float4 *)y;
    for (uint q = i; q < n / 4; q += stride) {
        float4 a = x4[q], b = z4[q];
        y4[q] = float4(op(a.x, b.x), op(a.y, b.y), op(a.z, b.z), op(a.w, b.w));
    }
    for (uint e = n / 4 * 4 + i; e < n; e += stride) y[e] = op(x[e], z[e]);
}

template <typename Op>
inline void each_of_three(device const float *x, device const float *z, device const float *w, device float *y,
                          uint n, uint i, uint stride, Op op) {
    device const float4 *x4 = (device const float4 *)x;
    device const float4 *z4 = (device const float4 *)z;
    device const float4 *w4 = (device const float4 *)w;
    device float4 *y4 = (device float4 *)y;
    for (uint q = i; q < n / 4; q += stride) {
        float4 a = x4[q], b = z4[q], c = w4[q];
        y4[q] = float4(op(a.x, b.x, c.x), op(a.y, b.y, c.y), op(a.z, b.z, c.z), op(a.w, b.w, c.w));
    }
    for (uint e = n / 4 * 4 + i; e < n; e += stride) y[e] = op(x[e], z[e], w[e]);
}

// A matrix and a vector that every row of it meets.
template <typename Op>
inline void each_with_column(device const float *x, device const float *v, device float *y,
                             uint n, uint cols, uint i, uint stride, Op op) {
    for (uint e = i; e < n; e += stride) y[e] = op(x[e], v[e % cols]);
}
