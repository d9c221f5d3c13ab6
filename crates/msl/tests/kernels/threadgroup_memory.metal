// Threadgroup variables keep their type and size, lie in their own section, and are
// neither shrunk to a bit nor split.
// in module
// has flag* global i32 *section "assay.threadgroup"
// has tile* global [8 x [9 x float]] *section "assay.threadgroup"
// has pair* global [2 x *] *section "assay.threadgroup"
// has @llvm.compiler.used
// hasnt _ZGV
// has arg\09threadgroup\090\09threadgroup\09read_write\09dynamic\09float
#include <metal_stdlib>
using namespace metal;

kernel void share(device float* a, threadgroup float* dynamic [[threadgroup(0)]], uint i [[thread_index_in_threadgroup]]) {
  threadgroup int flag;
  threadgroup float tile[8][9];
  threadgroup float2 pair[2];
  if (i == 0) flag = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (a[i] > 0) flag = 1;
  tile[i & 7][i & 3] = a[i];
  pair[i & 1] = float2(a[i], 1);
  dynamic[i] = a[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (flag) a[i] = tile[(i + 1) & 7][0] + pair[1].y + dynamic[i ^ 1];
}
