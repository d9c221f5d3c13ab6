// The last thread reads the counter as if all others had added to it.
// dispatch: 64 threads by 64; buffers of 64 and 1 numbers
#include <metal_stdlib>
using namespace metal;

kernel void counter_read_early(device uint *out [[buffer(0)]],
                               device atomic_uint *counter [[buffer(1)]],
                               uint i [[thread_position_in_threadgroup]]) {
    atomic_fetch_add_explicit(counter, i, memory_order_relaxed);
    if (i == 63)
        out[0] = *(device uint *)counter; // expect: race
}
