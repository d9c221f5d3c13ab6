// A simdgroup matrix of a source's own over the names of Apple's header: overloads with labels by address space, a vector of 64
// elements of which a thread holds two, asynchronous copies.
// kernels: product
// in product
// has call*@air.simdgroup_async_copy_2d.p1i8.p1i8(
// has call*@air.wait_simdgroup_events(
// has call*@air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(
#include <metal_stdlib>
struct _event;
thread _event* copy_2d(ulong, ulong, threadgroup void*, ulong, ulong, metal::ulong2, const device void*, ulong, ulong, metal::ulong2, metal::long2, int)
  __asm("air.simdgroup_async_copy_2d.p3i8.p1i8");
thread _event* copy_2d(ulong, ulong, device void*, ulong, ulong, metal::ulong2, const threadgroup void*, ulong, ulong, metal::ulong2, metal::long2, int)
  __asm("air.simdgroup_async_copy_2d.p1i8.p3i8");
void wait_for(int, thread _event**) __asm("air.wait_simdgroup_events");
namespace metal {
template <typename T> struct matrix_storage {
  typedef vec<T, 64> storage_type;
  storage_type t;
  thread vec<T, 2>* elements() thread { return reinterpret_cast<thread vec<T, 2>*>(&t); }
  matrix_storage() thread = default;
  matrix_storage(vec<T, 2> both) thread { *(this->elements()) = both; }
  template <typename U> void load(const threadgroup U* from, ushort row, ushort2 at) {
    *(elements()) = vec<T, 2>(*(const threadgroup vec<U, 2>*)(from + at.y * row + at.x));
  }
  void load_bfloat(const threadgroup bfloat* from, ushort row, ushort2 at) {
    bfloat2 held = *(const threadgroup packed_bfloat2*)(from + at.y * row + at.x);
    bfloat4 form = *(thread bfloat4*)(elements());
    ((thread float*)&form)[1] = *(thread float*)(&held);
    ((thread bfloat*)&form)[1] = held[0];
    ((thread bfloat4*)elements())[0] = form;
  }
  template <typename U> void store(device U* to, uint row, ushort2 at) {
    *(device vec<U, 2>*)(to + at.y * row + at.x) = vec<U, 2>(*(elements()));
  }
  template <typename U, typename V> void multiply(matrix_storage<U> a, matrix_storage<V> b) {
    t = __metal_simdgroup_matrix_8x8_multiply_accumulate(a.t, b.t, t, typename matrix_storage<T>::storage_type());
  }
};
}
using namespace metal;
kernel void product(device float* A [[buffer(0)]], device bfloat* B [[buffer(1)]], device float* C [[buffer(2)]],
                    threadgroup uchar* block [[threadgroup(0)]], ushort lane [[thread_index_in_simdgroup]]) {
  ushort2 at((lane & 1) * 2 + (lane / 8 & 1) * 4, (lane / 2 & 3) + (lane / 16) * 4);
  auto a_tile = (threadgroup float*)block;
  auto b_tile = (threadgroup bfloat*)(block + 256);
  thread _event* events[2];
  events[0] = copy_2d(4, 4, a_tile, 8, 1, ulong2(8, 8), A, 8, 1, ulong2(8, 8), long2(0), 0);
  events[1] = copy_2d(2, 2, b_tile, 8, 1, ulong2(8, 8), B, 8, 1, ulong2(8, 8), long2(0), 0);
  wait_for(2, events);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  matrix_storage<float> a, b, c(float2(0));
  a.load(a_tile, 8, at);
  b.load_bfloat(b_tile, 8, at);
  c.multiply(a, b);
  c.store(C, 8, at);
}
