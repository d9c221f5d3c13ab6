// A function constant may be a member of a class.
// in module
// has @assay.function_constant.3.int.size = external
#include <metal_stdlib>
using namespace metal;
struct P { static constant int size [[function_constant(3)]]; };
kernel void k(device int* o) { o[0] = P::size; }
