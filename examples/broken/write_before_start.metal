// The first thread writes below the buffer.
// dispatch: 96 threads by 32; buffers of 96 and 96 numbers
#include <metal_stdlib>
using namespace metal;

kernel void write_before_start(device float *out [[buffer(0)]],
                               device const float *in [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
    out[int(i) - 1] = in[i]; // expect: out-of-bounds
}
