// A counter that every thread reads and writes without an atomic operation.
// dispatch: 64 threads by 64; buffers of 64 and 1 numbers
#include <metal_stdlib>
using namespace metal;

kernel void lost_update(device float *out [[buffer(0)]],
                        device uint *counter [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
    counter[0] += i + 1; // expect: race
    out[i] = 1.0f;
}
