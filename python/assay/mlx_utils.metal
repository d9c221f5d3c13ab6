// What kernels written for MLX's metal_kernel may expect to be declared: names of its types, limits of numbers, indexing of
// strided arrays. An implementation of our own of that interface.
#include <metal_stdlib>
using namespace metal;

typedef half float16_t;
typedef bfloat bfloat16_t;

struct complex64_t {
  float real;
  float imag;
  complex64_t() thread = default;
  constexpr complex64_t(float re, float im) : real(re), imag(im) {}
  constexpr complex64_t(float re) : real(re), imag(0) {}
};
constexpr complex64_t operator+(complex64_t a, complex64_t b) { return complex64_t(a.real + b.real, a.imag + b.imag); }
constexpr complex64_t operator-(complex64_t a, complex64_t b) { return complex64_t(a.real - b.real, a.imag - b.imag); }
constexpr complex64_t operator-(complex64_t a) { return complex64_t(-a.real, -a.imag); }
constexpr complex64_t operator*(complex64_t a, complex64_t b) {
  return complex64_t(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real);
}
constexpr complex64_t operator/(complex64_t a, complex64_t b) {
  float square = b.real * b.real + b.imag * b.imag;
  return complex64_t((a.real * b.real + a.imag * b.imag) / square, (a.imag * b.real - a.real * b.imag) / square);
}
constexpr bool operator==(complex64_t a, complex64_t b) { return a.real == b.real && a.imag == b.imag; }

// The greatest and least values of a type; of floats, infinities and the finite ones.
template <typename T>
struct Limits {
  static constant constexpr T max = numeric_limits<T>::max();
  static constant constexpr T min = numeric_limits<T>::min();
  static constant constexpr T finite_max = numeric_limits<T>::max();
  static constant constexpr T finite_min = numeric_limits<T>::min();
};
template <>
struct Limits<float> {
  static constant constexpr float max = numeric_limits<float>::infinity();
  static constant constexpr float min = -numeric_limits<float>::infinity();
  static constant constexpr float finite_max = numeric_limits<float>::max();
  static constant constexpr float finite_min = -numeric_limits<float>::max();
};
template <>
struct Limits<half> {
  static constant constexpr half max = numeric_limits<half>::infinity();
  static constant constexpr half min = -numeric_limits<half>::infinity();
  static constant constexpr half finite_max = numeric_limits<half>::max();
  static constant constexpr half finite_min = -numeric_limits<half>::max();
};
template <>
struct Limits<bfloat> {
  static constant constexpr bfloat max = numeric_limits<bfloat>::infinity();
  static constant constexpr bfloat min = -numeric_limits<bfloat>::infinity();
  static constant constexpr bfloat finite_max = numeric_limits<bfloat>::max();
  static constant constexpr bfloat finite_min = -numeric_limits<bfloat>::max();
};
template <>
struct Limits<bool> {
  static constant constexpr bool max = true;
  static constant constexpr bool min = false;
};

template <typename T, typename U>
inline T ceildiv(T total, U size) {
  return (total + size - 1) / size;
}

// Where an element of a row-contiguous numbering lies in an array with these strides.
template <typename Index = int64_t>
inline Index elem_to_loc(Index elem, constant const int* shape, constant const int64_t* strides, int ndim) {
  Index location = 0;
  for (int axis = ndim - 1; axis >= 0 && elem > 0; axis--) {
    location += (elem % shape[axis]) * Index(strides[axis]);
    elem /= shape[axis];
  }
  return location;
}
template <typename Index = int64_t>
inline Index elem_to_loc(uint3 elem, constant const int* shape, constant const int64_t* strides, int ndim) {
  Index location = Index(elem.x) * Index(strides[ndim - 1]) + Index(elem.y) * Index(strides[ndim - 2]);
  for (int axis = ndim - 3; axis >= 0; axis--) {
    location += Index(elem.z % shape[axis]) * Index(strides[axis]);
    elem.z /= shape[axis];
  }
  return location;
}
template <typename Index = int64_t>
inline Index elem_to_loc_1(uint elem, constant const int64_t& stride) {
  return Index(elem) * Index(stride);
}
template <typename Index = int64_t>
inline Index elem_to_loc_2(uint2 elem, constant const int64_t strides[2]) {
  return Index(elem.x) * Index(strides[1]) + Index(elem.y) * Index(strides[0]);
}
template <typename Index = int64_t>
inline Index elem_to_loc_3(uint3 elem, constant const int64_t strides[3]) {
  return Index(elem.x) * Index(strides[2]) + Index(elem.y) * Index(strides[1]) + Index(elem.z) * Index(strides[0]);
}
