#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o, uint i [[thread_position_in_grid]]) {
  half4 a = unpack_unorm4x8_srgb_to_half(0x80ff4000u);
  uint p = pack_half_to_unorm4x8(half4(0.5h, 1.0h, 0.0h, 0.25h));
  float2 u = unpack_snorm2x16_to_float(0x7fff8001u);
  half3 b = unpack_unorm565_to_half(ushort(0xf81f));
  float r = clamp(float(i), 3.0f, 9.0f) + saturate(float(i) - 4.5f) + mix(1.0f, 3.0f, 0.5f) +
            step(5.0f, float(i)) + smoothstep(0.0f, 32.0f, float(i)) + fract(1.25f) + sign(-2.0f) +
            precise::sqrt(16.0f) + fast::rsqrt(4.0f);
  o[i] = r + float(p & 255) + u.x + float(b.x) + float(a.w) + popcount(i) + clz(i | 1) + ctz(i | 8) +
         reverse_bits(1u << 31) + rotate(1u, 4u) + extract_bits(0xf0u, 4, 4) + insert_bits(0u, 3u, 1, 2) +
         mulhi(0x80000000u, 4u) + hadd(2u, 4u) + absdiff(3, 9) + madsat(2, 3, 4) +
         addsat(uchar(250), uchar(10)) + median3(1, 5, 3) + max3(1, 2, 3) + fma(2.0f, 3.0f, 1.0f) +
         ldexp(1.0f, 3) + dot(float3(1, 2, 3), float3(1)) + length(float2(3, 4)) +
         cross(float3(1, 0, 0), float3(0, 1, 0)).z + distance(float2(0), float2(0, 2)) +
         normalize(float2(0, 2)).y + fmod(7.0f, 4.0f) + trunc(2.7f) + rint(2.5f) + round(2.5f) +
         powr(2.0f, 3.0f) + exp10(1.0f) + sinpi(0.5f) + copysign(2.0f, -1.0f) + nextafter(1.0f, 2.0f) +
         all(bool2(true)) + any(bool3(false));
}
