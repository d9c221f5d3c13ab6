// The names under which C and Metal share vectors and matrices, for sources that ask for them.
#pragma once
#define __METAL_SIMD_NAMES(scalar, name)                                            \
  typedef scalar##2 vector_##name##2, simd_##name##2;                               \
  typedef scalar##3 vector_##name##3, simd_##name##3;                               \
  typedef scalar##4 vector_##name##4, simd_##name##4;                               \
  typedef packed_##scalar##2 simd_packed_##name##2;                                 \
  typedef packed_##scalar##4 simd_packed_##name##4;                                 \
  typedef scalar simd_##name##1;                                                    \
  namespace simd {                                                                  \
  typedef scalar##2 name##2;                                                        \
  typedef scalar##3 name##3;                                                        \
  typedef scalar##4 name##4;                                                        \
  typedef packed_##scalar##2 packed_##name##2;                                      \
  typedef packed_##scalar##4 packed_##name##4;                                      \
  }
#define __METAL_SIMD_MATRIX(scalar, size)                                           \
  typedef scalar##size matrix_##scalar##size, simd_##scalar##size;                  \
  namespace simd { typedef ::scalar##size scalar##size; }
#define __METAL_SIMD_MATRICES(scalar)                                               \
  __METAL_SIMD_MATRIX(scalar, 2x2) __METAL_SIMD_MATRIX(scalar, 2x3) __METAL_SIMD_MATRIX(scalar, 2x4) \
  __METAL_SIMD_MATRIX(scalar, 3x2) __METAL_SIMD_MATRIX(scalar, 3x3) __METAL_SIMD_MATRIX(scalar, 3x4) \
  __METAL_SIMD_MATRIX(scalar, 4x2) __METAL_SIMD_MATRIX(scalar, 4x3) __METAL_SIMD_MATRIX(scalar, 4x4)
__METAL_SIMD_NAMES(char, char)
__METAL_SIMD_NAMES(uchar, uchar)
__METAL_SIMD_NAMES(short, short)
__METAL_SIMD_NAMES(ushort, ushort)
__METAL_SIMD_NAMES(int, int)
__METAL_SIMD_NAMES(uint, uint)
__METAL_SIMD_NAMES(long, long)
__METAL_SIMD_NAMES(ulong, ulong)
__METAL_SIMD_NAMES(half, half)
__METAL_SIMD_NAMES(float, float)
__METAL_SIMD_MATRICES(float)
__METAL_SIMD_MATRICES(half)
