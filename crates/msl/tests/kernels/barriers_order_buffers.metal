// Although buffers do not alias, a barrier may change what other threads wrote.
// in look
// count 2 load float
// count 1 call void @air.wg.barrier(i32 noundef 1, i32 noundef 1)
// count 1 call void @assay.escape(
#include <metal_stdlib>
using namespace metal;

kernel void look(device float* a, device const uint* n, uint i [[thread_position_in_grid]]) {
  float before = a[0];
  threadgroup_barrier(mem_flags::mem_device);
  float after = a[0];
  a[i + 1] = before + after + n[i];
}
