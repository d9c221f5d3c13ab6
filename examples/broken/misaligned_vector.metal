// A vector of four at an address that is a multiple of four bytes only.
// dispatch: 64 threads by 32; buffers of 64 and 64 numbers
#include <metal_stdlib>
using namespace metal;

kernel void misaligned_vector(device float *out [[buffer(0)]],
                              device const float *in [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    device const float4 *four = (device const float4 *)(in + i % 16);
    float4 x = *four; // expect: misaligned
    out[i] = x.x + x.w;
}
