// Sorts 512 keys per threadgroup in threadgroup memory.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void bitonic_sort(device uint *d [[buffer(0)]],
                         uint l [[thread_position_in_threadgroup]],
                         uint group [[threadgroup_position_in_grid]]) {
    threadgroup uint keys[512];
    device uint *block = d + group * 512;
    keys[l] = block[l];
    keys[l + 256] = block[l + 256];
    for (uint k = 2; k <= 512; k <<= 1) {
        for (uint j = k >> 1; j > 0; j >>= 1) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint i = 2 * l - (l & (j - 1));
            uint a = keys[i], b = keys[i + j];
            if ((a > b) == ((i & k) == 0)) {
                keys[i] = b;
                keys[i + j] = a;
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    block[l] = keys[l];
    block[l + 256] = keys[l + 256];
}
