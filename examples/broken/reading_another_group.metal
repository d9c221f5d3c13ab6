// A sum over what other threadgroups write in the same dispatch.
// dispatch: 128 threads by 32; buffers of 1 and 4 numbers
#include <metal_stdlib>
using namespace metal;

kernel void reading_another_group(device float *out [[buffer(0)]],
                                  device float *parts [[buffer(1)]],
                                  uint i [[thread_position_in_grid]],
                                  uint group [[threadgroup_position_in_grid]]) {
    if (i % 32 == 0) {
        parts[group] = float(i) + 1.0f;
    }
    if (group == 3 && i % 32 == 0) {
        out[0] = parts[1] + parts[2]; // expect: group-race
    }
}
