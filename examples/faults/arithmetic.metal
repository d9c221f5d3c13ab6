// Integer arithmetic that the language does not define. Found with --check=arithmetic.
// assay: launch --grid 64 --threadgroup 64 --buffer 0=random:f32:64 --buffer 1=iota:u32:64 --buffer 2=iota:f32:64
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const uint *y [[buffer(1)]], device const float *z [[buffer(2)]], uint i [[thread_position_in_grid]]

kernel void division(ARGS) {
    x[i] = 100 / y[i]; // fault: division-by-zero
}
kernel void remainder(ARGS) {
    x[i] = i % y[i]; // fault: division-by-zero
}
kernel void signed_division(ARGS) {
    int d = int(y[i]) - 5;
    x[i] = -7 / d; // fault: division-by-zero
}
kernel void division_of_vectors(ARGS) {
    uint4 v = uint4(8) / uint4(1, 2, y[i], 4); // fault: division-by-zero
    x[i] = v.x + v.z;
}
uint average(uint sum, uint count) {
    return sum / count; // fault: division-by-zero in division_in_a_helper
}
kernel void division_in_a_helper(ARGS) {
    x[i] = average(y[i], y[i] / 40);
}
kernel void shift_left(ARGS) {
    x[i] = 1u << y[i]; // fault: oversized-shift
}
kernel void shift_right(ARGS) {
    x[i] = y[i] >> (i + 1); // fault: oversized-shift
}
kernel void shift_by_a_constant(ARGS) {
    x[i] = y[i] << 33; // fault: oversized-shift
}
kernel void shift_by_a_negative(ARGS) {
    x[i] = 1 << (int(i) - 1); // fault: oversized-shift
}
kernel void shift_of_vectors(ARGS) {
    uint2 v = uint2(1) << uint2(3, y[i]); // fault: oversized-shift
    x[i] = v.y;
}
kernel void too_large_for_int(ARGS) {
    x[i] = int(z[i] * 1e9f); // fault: conversion-overflow
}
kernel void negative_to_unsigned(ARGS) {
    x[i] = uint(z[i] - 3); // fault: conversion-overflow
}
kernel void not_a_number(ARGS) {
    x[i] = int(sqrt(z[i] - 2)); // fault: conversion-overflow
}
kernel void too_large_for_char(ARGS) {
    x[i] = char(z[i] * 3); // fault: conversion-overflow
}
kernel void half_to_short(ARGS) {
    x[i] = short(half(z[i]) * half(1000)); // fault: conversion-overflow
}
kernel void least_by_minus_one(ARGS) {
    int least = int(0x80000000u + y[i] * 0);
    x[i] = least / (int(y[i]) - 5); // fault: division-overflow
}
kernel void remainder_of_the_least(ARGS) {
    int d = -int(i == 3) - int(i != 3) * 2;
    x[i] = int(0x80000000u | y[3] * 0) % d; // fault: division-overflow
}
kernel void least_of_64_bits(ARGS) {
    long least = long(1) << 63;
    x[i] = (least + long(y[0])) / (i == 7 ? -1 : 1); // fault: division-overflow
}
kernel void least_in_a_vector(ARGS) {
    int2 v = int2(4, int(0x80000000u)) / int2(2, i == 1 ? -1 : 3); // fault: division-overflow
    x[i] = v.x + v.y;
}
