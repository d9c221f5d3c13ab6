#include <metal_stdlib>
constant bool has_bias [[function_constant(0)]];
constant uint width_fc [[function_constant(1)]];
constant uint width = metal::is_function_constant_defined(width_fc) ? width_fc : 4;
constant bool no_bias = !has_bias;
kernel void k(device float *o [[buffer(0)]],
              device const float *bias [[buffer(1), function_constant(has_bias)]],
              uint i [[thread_position_in_grid]]) {
  float b = 0;
  if (has_bias)
    b = bias[i % width];
  o[i] = o[i] + b + (no_bias ? 100.f : 0.f);
}
