// Positions are read through builtins; only pointers are parameters.
// kernels: where
// in where
// has define*(ptr noalias noundef %0)
// has call*i32 @air.thread_position_in_grid(i32 noundef 0)
// has call*i32 @air.thread_position_in_grid(i32 noundef 2)
// has call*i32 @air.threads_per_threadgroup(i32 noundef 1)
// has call*i32 @air.thread_index_in_simdgroup()
// in module
// has arg\09builtin\09thread_position_in_grid\09-\09-\09g\09uint3
#include <metal_stdlib>
using namespace metal;

kernel void where(uint3 g [[thread_position_in_grid]], device uint* o [[buffer(3)]],
                  ushort3 size [[threads_per_threadgroup]], const uint lane [[thread_index_in_simdgroup]]) {
  o[g.x] = g.z + size.y + lane;
}
