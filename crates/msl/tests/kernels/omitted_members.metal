// A member of a stage's input that a function constant omits is no function constant.
// kernels: k
// in module
// has @assay.function_constant.0.bool.colored = external
// hasnt function_constant.5
#include <metal_stdlib>
using namespace metal;
constant bool colored [[function_constant(0)]];
typedef struct {
  float3 position [[attribute(0)]];
  float4 color [[attribute(5), function_constant(colored)]];
} Vertex;
kernel void k(device float* o) { o[0] = colored ? 1 : 2; }
