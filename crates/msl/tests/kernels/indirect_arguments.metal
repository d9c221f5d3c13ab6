// A kernel writes how many threadgroups the next dispatch has.
// kernels: k
// in k
// count 3 store i32
#include <metal_stdlib>
using namespace metal;
kernel void k(device MTLDispatchThreadgroupsIndirectArguments& next, constant uint& n) {
  next.threadgroupsPerGrid[0] = (n + 255) / 256;
  next.threadgroupsPerGrid[1] = 1;
  next.threadgroupsPerGrid[2] = 1;
}
