#include <metal_stdlib>
#include <metal_logging>
using namespace metal;
constant os_log custom("com.example", "kernels");
kernel void k(device float *o, uint i [[thread_position_in_grid]]) {
  if (i == 0) {
    os_log_default.log_info("value %f at %d", o[i], i);
    custom.log_error("x");
  }
  o[i] *= 2;
}
