// Atomic operations that not every GPU has.
#include <metal_stdlib>
using namespace metal;

kernel void greatest_of_64_bits(device atomic_ulong* most [[buffer(0)]], device const ulong* x [[buffer(1)]],
                                uint i [[thread_position_in_grid]]) {
    atomic_max_explicit(most, x[i], memory_order_relaxed);
}
