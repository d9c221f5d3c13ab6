// Metal's char is signed whatever the target's is.
// in negative
// has icmp slt i8
#include <metal_stdlib>
using namespace metal;

kernel void negative(device const char* a, device int* b, uint i [[thread_position_in_grid]]) {
  b[i] = a[i] < 0 ? 1 : 2;
}
