// Reads rows, writes columns: the store is scattered.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void transpose_naive(device float *o [[buffer(0)]],
                            device const float *x [[buffer(1)]],
                            constant uint &w [[buffer(2)]],
                            constant uint &h [[buffer(3)]],
                            uint2 g [[thread_position_in_grid]]) {
    if (g.x < w && g.y < h) {
        o[g.x * h + g.y] = x[g.y * w + g.x];
    }
}
