// One atomic per element straight into device memory.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void histogram_global(device atomic_uint *h [[buffer(0)]],
                             device const uint *x [[buffer(1)]],
                             constant uint &n [[buffer(2)]],
                             uint i [[thread_position_in_grid]]) {
    if (i < n) {
        atomic_fetch_add_explicit(&h[(x[i] >> 24) & 0xff], 1u, memory_order_relaxed);
    }
}
