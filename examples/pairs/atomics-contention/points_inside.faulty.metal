// Points inside a circle, counted in one place.
#include <metal_stdlib>
using namespace metal;

kernel void inside(device atomic_uint *hits, constant uint &tries, uint i [[thread_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {
    uint state = i * 747796405u + 12345u;
    for (uint k = 0; k < tries; k++) {
        state = state * 1664525u + 1013904223u;
        float x = float(state >> 16) / 65536.0f, y = float(state & 0xffffu) / 65536.0f;
        if (x * x + y * y < 1.0f) atomic_fetch_add_explicit(hits, 1u, memory_order_relaxed); // fault: atomics-contention
    }
}

// assay: launch inside --grid 65536 --threadgroup 256 --arg hits=zeros:u32:1 --arg tries=32
