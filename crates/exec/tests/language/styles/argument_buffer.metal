#include <metal_stdlib>
using namespace metal;
struct Args {
  device float *a [[id(0)]];
  constant float *b [[id(1)]];
  uint n [[id(2)]];
  array<device float *, 2> more [[id(3)]];
};
kernel void k(constant Args &args [[buffer(0)]], device float *o [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
  if (i < args.n)
    o[i] = args.a[i] + args.b[0] + args.more[1][i];
}
