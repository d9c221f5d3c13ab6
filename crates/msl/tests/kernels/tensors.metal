// kernels: bound, made
// in bound
// has air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f16.v64f16.v64f32
// hasnt air.expect
// in made
// has air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64bf16.v64f32.v64f32
// hasnt air.expect
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;

kernel void bound(tensor<device half, dextents<int32_t, 2>> a [[buffer(2)]], tensor<device half, extents<int, 64, 64>, tensor_handle> b,
                  tensor<device float, dextents<int32_t, 2>> c, uint2 at [[threadgroup_position_in_grid]]) {
  constexpr auto descriptor = mpp::tensor_ops::matmul2d_descriptor(64, 32, static_cast<int>(dynamic_extent));
  mpp::tensor_ops::matmul2d<descriptor, execution_simdgroups<4>> op;
  auto left = a.slice(0, at.y * 64);
  auto right = b.slice(at.x * 32, 0);
  auto out = c.slice(at.x * 32, at.y * 64);
  op.run(left, right, out);
}

kernel void made(device bfloat *x, device float *y) {
  threadgroup float tile[32 * 32];
  auto left = tensor<device bfloat, dextents<int, 2>, tensor_inline>(x, dextents<int, 2>(32, 32));
  auto right = tensor(tile, dextents<int, 2>{32, 32}, array<int, 2>({1, 32}));
  mpp::tensor_ops::matmul2d<mpp::tensor_ops::matmul2d_descriptor(16, 16, 32), execution_simdgroup> op;
  auto sums = op.get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
  op.run(left, right, sums);
  sums.store(tensor(y, dextents<int, 2>(16, 16)));
}
