// Four-bit weights to float, one byte per thread.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void dequant_q4(device float *o [[buffer(0)]],
                       device const uchar *q [[buffer(1)]],
                       device const half *sc [[buffer(2)]],
                       uint i [[thread_position_in_grid]]) {
    float s = float(sc[i >> 4]);
    uchar b = q[i];
    o[i * 2] = (int(b & 0xf) - 8) * s;
    o[i * 2 + 1] = (int(b >> 4) - 8) * s;
}
