// The barrier orders threadgroup memory; what is shared lies in device memory.
// dispatch: 64 threads by 64; buffers of 64 and 64 numbers
#include <metal_stdlib>
using namespace metal;

kernel void wrong_barrier_flags(device float *out [[buffer(0)]],
                                device float *shared_values [[buffer(1)]],
                                uint i [[thread_position_in_threadgroup]]) {
    shared_values[i] = float(i) + 0.5f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = shared_values[63 - i]; // expect: race
}
