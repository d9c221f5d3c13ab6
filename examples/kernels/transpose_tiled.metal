// The same through a padded threadgroup tile: both sides are contiguous.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint TILE = 16;

[[max_total_threads_per_threadgroup(256)]]
kernel void transpose_tiled(device float *o [[buffer(0)]],
                            device const float *x [[buffer(1)]],
                            constant uint &w [[buffer(2)]],
                            constant uint &h [[buffer(3)]],
                            uint2 l [[thread_position_in_threadgroup]],
                            uint2 group [[threadgroup_position_in_grid]]) {
    threadgroup float tile[TILE][TILE + 1];
    uint2 from = group * TILE + l;
    if (from.x < w && from.y < h) {
        tile[l.y][l.x] = x[from.y * w + from.x];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint2 to = group.yx * TILE + l;
    if (to.x < h && to.y < w) {
        o[to.y * h + to.x] = tile[l.x][l.y];
    }
}
