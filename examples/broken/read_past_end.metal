// Each thread reads its neighbour's number; the last one has none.
// dispatch: 96 threads by 32; buffers of 96 and 96 numbers
#include <metal_stdlib>
using namespace metal;

kernel void read_past_end(device float *out [[buffer(0)]],
                          device const float *in [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) {
    out[i] = in[i + 1] - in[i]; // expect: out-of-bounds
}
