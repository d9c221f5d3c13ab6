#include <metal_stdlib>
using namespace metal;

// Rows lie so many bytes apart; the host says how, in a struct of mixed widths.
typedef struct {
  int32_t width;
  uint64_t stride;
  float epsilon;
} row_args;

template <typename V>
kernel void normalise(constant row_args &args, device const char *in, device char *out,
                      threadgroup float *partial [[threadgroup(0)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      ushort3 thread_in_group [[thread_position_in_threadgroup]],
                      ushort simdgroup [[simdgroup_index_in_threadgroup]],
                      ushort lane [[thread_index_in_simdgroup]],
                      ushort3 group_size [[threads_per_threadgroup]]) {
  if (simdgroup == 0)
    partial[lane] = 0.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const int vectors = args.width / 4;
  device const V *row = (device const V *)(in + group.x * args.stride);
  float squares = 0.0f;
  for (int at = thread_in_group.x; at < vectors; at += group_size.x) {
    const float4 v = float4(row[at]);
    squares += dot(v, v);
  }
  squares = simd_sum(squares);
  if (simd_is_first())
    partial[simdgroup] = squares;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float total = simd_sum(partial[lane]);
  const float factor = rsqrt(total / args.width + args.epsilon);
  device V *result = (device V *)(out + group.x * args.stride);
  for (int at = thread_in_group.x; at < vectors; at += group_size.x)
    result[at] = (V)(float4(row[at]) * factor);
}
typedef decltype(normalise<float4>) normalise_t;
template [[host_name("normalise_f32")]] kernel normalise_t normalise<float4>;
template [[host_name("normalise_f16")]] kernel normalise_t normalise<half4>;
