// The first thread writes below the buffer.
#include <metal_stdlib>
using namespace metal;

kernel void write_before_start(device float *out [[buffer(0)]],
                               device const float *in [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
    out[int(i) - 1] = in[i]; // expect: out-of-bounds
}
