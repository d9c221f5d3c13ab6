// Builtins on integers of every width, at the ends of their ranges too.
#include <metal_stdlib>
using namespace metal;

// A number as it is, small, or near an end of the range.
template <typename T> T wild(T v, uint how) {
    const T top = T(T(1) << (8 * sizeof(T) - 1));
    switch (how % 5) {
    case 0: return v;
    case 1: return T(top - (v & 3));
    case 2: return T(top + (v & 3));
    case 3: return T(v & 7);
    default: return T(-(v & 7));
    }
}

#define EACH_TYPE(M) M(char) M(uchar) M(short) M(ushort) M(int) M(uint) M(long) M(ulong)
#define ARGUMENTS(T) device T* y [[buffer(0)]], device const T* x [[buffer(1)]], uint i [[thread_position_in_grid]]
#define THREE(T) \
    T a = wild(x[3 * i], i), b = wild(x[3 * i + 1], i / 5), c = wild(x[3 * i + 2], i / 25);

#define CHOICES(T) kernel void choices_##T(ARGUMENTS(T)) { \
    THREE(T) \
    y[8 * i] = clamp(a, min(b, c), max(b, c)); \
    y[8 * i + 1] = min3(a, b, c); \
    y[8 * i + 2] = max3(a, b, c); \
    y[8 * i + 3] = median3(a, b, c); \
    y[8 * i + 4] = T(absdiff(a, b)); \
    y[8 * i + 5] = clamp(a, T(3), T(99)); \
    y[8 * i + 6] = T(abs(b)); }
EACH_TYPE(CHOICES)

#define SATURATED(T) kernel void saturated_##T(ARGUMENTS(T)) { \
    THREE(T) \
    y[8 * i] = addsat(a, b); \
    y[8 * i + 1] = subsat(a, b); \
    y[8 * i + 2] = madsat(a, b, c); \
    y[8 * i + 3] = madsat(T(a & 15), T(b & 7), c); \
    y[8 * i + 4] = addsat(a, T(100)); \
    y[8 * i + 5] = subsat(T(100), b); \
    y[8 * i + 6] = madsat(a, T(3), T(7)); }
EACH_TYPE(SATURATED)

#define HALVED(T) kernel void halved_##T(ARGUMENTS(T)) { \
    THREE(T) \
    y[8 * i] = hadd(a, b); \
    y[8 * i + 1] = rhadd(a, b); \
    y[8 * i + 2] = mulhi(a, b); \
    y[8 * i + 3] = madhi(a, b, c); \
    y[8 * i + 4] = hadd(a, T(5)); \
    y[8 * i + 5] = mulhi(b, T(77)); }
EACH_TYPE(HALVED)

#define ROTATED(T) kernel void rotated_##T(ARGUMENTS(T)) { \
    THREE(T) \
    const int bits = 8 * sizeof(T); \
    using U = make_unsigned_t<T>; \
    U u = U(a), v = U(b), by = U(c) & U(bits - 1); \
    y[16 * i] = rotate(a, c); \
    y[16 * i + 1] = rotate(a, T(5)); \
    y[16 * i + 2] = rotate(a, T(bits / 2)); \
    y[16 * i + 3] = rotate(a, T(bits - 1)); \
    y[16 * i + 4] = T(U(u << 3) | U(u >> (bits - 3))); \
    y[16 * i + 5] = T(U(u << (bits - 3)) | U(v >> 3)); \
    y[16 * i + 6] = T(U(u << 3) | U(v >> (bits - 3))); \
    y[16 * i + 7] = T(U(u << by) | U(u >> (U(-by) & U(bits - 1)))); \
    y[16 * i + 8] = T(U(u >> by) | U(u << (U(-by) & U(bits - 1)))); \
    y[16 * i + 9] = rotate(a, T(x[0])); }
EACH_TYPE(ROTATED)

// Three-way comparisons, into types of their own.
#define ORDER(T) kernel void order_##T(ARGUMENTS(T), device int* z [[buffer(2)]]) { \
    THREE(T) \
    y[2 * i] = T((a > b) - (a < b)); \
    y[2 * i + 1] = T(b == c ? 0 : b < c ? -1 : 1); \
    z[i] = (a > c) - (a < c); }
EACH_TYPE(ORDER)

kernel void bytes_backwards(ARGUMENTS(ulong), device uint* z [[buffer(2)]]) {
    y[i] = __builtin_bswap64(x[i]);
    z[i] = __builtin_bswap32(z[i]) ^ __builtin_bswap16(ushort(z[i]));
}

#define OVERFLOW(T) kernel void overflow_##T(ARGUMENTS(T), device uint* z [[buffer(2)]]) { \
    THREE(T) \
    T sum, less, product, small; \
    z[i] = __builtin_add_overflow(a, b, &sum) | __builtin_sub_overflow(a, b, &less) << 1 | \
           __builtin_mul_overflow(a, b, &product) << 2 | __builtin_mul_overflow(T(a & 15), T(c & 7), &small) << 3; \
    y[4 * i] = sum; \
    y[4 * i + 1] = less; \
    y[4 * i + 2] = product; \
    y[4 * i + 3] = small; }
EACH_TYPE(OVERFLOW)

// Vectors go element by element, under a mask as well.
#define VECTORS(T) kernel void vectors_##T(ARGUMENTS(T)) { \
    T a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2]; \
    y[4 * i] = median3(a, b, c) ^ rotate(a, b) ^ insert_bits(a, b, 3, 4); \
    if (i % 3 != 1) { \
        y[4 * i + 1] = madsat(a, b, c) ^ mulhi(b, c); \
        y[4 * i + 2] = addsat(a, b) ^ subsat(b, c); \
        y[4 * i + 3] = rhadd(a, c) ^ hadd(b, c); } }
VECTORS(char3) VECTORS(ushort2) VECTORS(int4) VECTORS(long2) VECTORS(ulong3)

// The same for the whole dispatch: computed before it.
kernel void of_arguments(ARGUMENTS(ulong), constant long3& l [[buffer(2)]], constant uint3& u [[buffer(3)]]) {
    ulong a = ulong(l.x) * 0x123456789abcdef1, b = ulong(l.y) << 57, c = ulong(l.z);
    ulong sum = madsat(a, b, c) ^ rotate(a, c) ^ mulhi(a, b) ^ hadd(a, b) ^ addsat(a, b);
    sum += ulong(madsat(long(a), long(b), l.z) ^ mulhi(long(a), long(b)) ^ subsat(long(b), long(a)));
    sum ^= median3(a, b, c) + ulong(clamp(long(a), -l.x, l.y)) + __builtin_bswap64(a);
    y[i] = x[i] + sum + madsat(u.x << 28, u.y, u.z) + ((u.x > u.y) - (u.x < u.y));
}
