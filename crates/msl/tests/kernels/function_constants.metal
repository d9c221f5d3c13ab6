// Function constants are symbols that say index, type and name; what is derived from
// them is computed when they are known.
// in module
// has @assay.function_constant.3.bool.has_bias = external
// has @assay.function_constant.14.uint2.tile = external
// has @llvm.global_ctors
// has function_constant=has_bias
// in apply
// has @air.is_function_constant_defined(
#include <metal_stdlib>
using namespace metal;
#define BASE 10

constant bool has_bias [[function_constant(3)]];
constant uint2 tile [[function_constant(BASE + 4)]];
constant int scale [[function_constant(5)]];
constant bool use_both = has_bias && tile.x > 4;

kernel void apply(device float* a, device float* bias [[buffer(1), function_constant(has_bias)]],
                  uint i [[thread_position_in_grid]]) {
  if (has_bias) a[i] += bias[i];
  if (use_both) a[i] *= is_function_constant_defined(scale) ? scale : 2;
}
