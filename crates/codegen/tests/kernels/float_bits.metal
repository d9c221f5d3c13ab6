// Classes, exponents and neighbours of floats, from bits.
#include <metal_stdlib>
using namespace metal;

// Every class, and the numbers beside where one ends.
template <typename U> U bits(U v, uint how, U infinity, U least) {
    U sign = how & 1 ? U(U(1) << (8 * sizeof(U) - 1)) : U(0);
    switch (how / 2 % 8) {
    case 0: return v;
    case 1: return sign;
    case 2: return U(sign | (v & (least - 1)));
    case 3: return U(sign | (least + (v & 3) - 2));
    case 4: return U(sign | infinity);
    case 5: return U(sign | (infinity - 1 - (v & 1)));
    case 6: return U(sign | (infinity + 1 + (v & (least - 2))));
    default: return U(sign | (infinity / 2 + (v & 1)));
    }
}

#define ARGUMENTS(U) device uint* y [[buffer(0)]], device const U* x [[buffer(1)]], uint i [[thread_position_in_grid]]
#define BOTH(T, U, infinity, least) \
    T a = as_type<T>(bits<U>(x[2 * i], i, infinity, least)); \
    T b = as_type<T>(bits<U>(x[2 * i + 1], i / 16, infinity, least));

#define CLASSES(T, U, infinity, least) kernel void classes_##T(ARGUMENTS(U)) { \
    BOTH(T, U, infinity, least) \
    uint found = 0; \
    if (isnormal(a)) found |= 1; \
    if (isnormal(a) || a == T(0)) found |= 2; \
    found |= __builtin_isfpclass(b, 0x001) << 2 | __builtin_isfpclass(b, 0x002) << 3; \
    found |= __builtin_isfpclass(b, 0x3c0) << 4 | __builtin_isfpclass(b, 0x03c) << 5; \
    found |= __builtin_isfpclass(b, 0x090) << 6 | __builtin_isfpclass(b, 0x060) << 7; \
    found |= __builtin_isfpclass(b, 0x108) << 8 | __builtin_isfpclass(b, 0x20c) << 9; \
    found |= __builtin_isfpclass(b, 0x168) << 10 | __builtin_isfpclass(b, 0x2aa) << 11; \
    found |= __builtin_isfpclass(b, 0x155) << 12 | __builtin_isfpclass(b, 0x207) << 13; \
    y[i] = found; }
CLASSES(float, uint, 0x7f800000u, 0x00800000u)
CLASSES(half, ushort, 0x7c00, 0x0400)
CLASSES(bfloat, ushort, 0x7f80, 0x0080)

// The library has none of brain floats; AIR has.
bfloat nextafter(bfloat, bfloat) __asm("air.nextafter.bf16") __attribute__((const));

#define NEIGHBOURS(T, U, infinity, least) kernel void neighbours_##T(ARGUMENTS(U)) { \
    BOTH(T, U, infinity, least) \
    y[4 * i] = as_type<U>(nextafter(a, b)); \
    y[4 * i + 1] = as_type<U>(nextafter(b, -b)); \
    y[4 * i + 2] = uint(ilogb(a)); \
    if (i % 3 != 0) y[4 * i + 3] = uint(ilogb(fabs(b))) + as_type<U>(nextafter(a, T(1))); }
NEIGHBOURS(float, uint, 0x7f800000u, 0x00800000u)
NEIGHBOURS(half, ushort, 0x7c00, 0x0400)
NEIGHBOURS(bfloat, ushort, 0x7f80, 0x0080)

kernel void exponents_of_vectors(device int4* y [[buffer(0)]], device const float4* x [[buffer(1)]],
                                 uint i [[thread_position_in_grid]]) {
    y[i] = ilogb(x[i]) + as_type<int4>(nextafter(x[i], x[i].wzyx));
}

kernel void bits_of_arguments(device uint* y [[buffer(0)]], constant float2& f [[buffer(1)]],
                              constant half2& h [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    uint found = as_type<uint>(nextafter(f.x, f.y)) + as_type<ushort>(nextafter(h.x, h.y));
    found += uint(ilogb(f.x)) * 3 + uint(ilogb(h.x)) * 5 + (isnormal(f.y) || f.y == 0) * 7 + isnormal(h.y) * 11;
    y[i] += found;
}
