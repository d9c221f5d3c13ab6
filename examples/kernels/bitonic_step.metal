// One compare-and-exchange step of a bitonic sort over device memory.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void bitonic_step(device uint *d [[buffer(0)]],
                         constant uint &j [[buffer(1)]],
                         constant uint &k [[buffer(2)]],
                         uint i [[thread_position_in_grid]]) {
    uint x = i ^ j;
    if (x > i) {
        uint a = d[i], b = d[x];
        bool up = (i & k) == 0;
        if ((a > b) == up) {
            d[i] = b;
            d[x] = a;
        }
    }
}
