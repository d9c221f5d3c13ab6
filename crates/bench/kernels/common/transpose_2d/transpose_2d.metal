// Transposed matrix, through tiles of 32 × 32 in threadgroup memory. A column more keeps its banks apart.
#include <metal_stdlib>
using namespace metal;

kernel void transpose_2d_f32(device const float *a [[buffer(0)]],
                             device float *b [[buffer(1)]],
                             constant uint &rows [[buffer(2)]],
                             constant uint &cols [[buffer(3)]],
                             uint2 group [[threadgroup_position_in_grid]],
                             uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32][33];
    for (uint i = at.y; i < 32; i += 8) {
        uint row = group.y * 32 + i, col = group.x * 32 + at.x;
        if (row < rows && col < cols) tile[i][at.x] = a[row * cols + col];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = at.y; i < 32; i += 8) {
        uint row = group.x * 32 + i, col = group.y * 32 + at.x;
        if (row < cols && col < rows) b[row * rows + col] = tile[at.x][i];
    }
}
