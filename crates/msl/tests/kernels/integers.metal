// Integer functions by Apple's names.
// in bits
// has @air.min.s.i32(
// has @air.max.u.i32(
// has @air.clamp.s.i16(
// has @air.popcount.i32(
// has @air.clz.i32(
// has @air.reverse_bits.i32(
// has @air.mul_hi.u.i32(
// has @air.abs.s.i32(
#include <metal_stdlib>
using namespace metal;

kernel void bits(device int* a, device uint* u, device short* s) {
  a[0] = min(a[1], a[2]) + abs(a[3]);
  u[0] = max(u[1], u[2]) + popcount(u[3]) + clz(u[4]) + reverse_bits(u[5]) + mulhi(u[6], u[7]);
  s[0] = clamp(s[1], short(-3), short(7));
  u[8] = extract_bits(u[9], 3, 5) + rotate(u[10], 7u) + insert_bits(u[11], u[12], 4, 8);
}
