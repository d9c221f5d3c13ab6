#include <metal_stdlib>
using namespace metal;

kernel void my_kernel(uint i [[thread_position_in_grid]]) {}
