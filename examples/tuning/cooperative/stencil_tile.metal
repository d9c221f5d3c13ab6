// Mean of five neighbours: a tile with its border, threads at the border fetch twice.
#include <metal_stdlib>
using namespace metal;

kernel void stencil_tile(device float *y, device const float *x, constant uint &n, uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]],
                         uint2 p [[thread_position_in_grid]]) {
    threadgroup float tile[18][18];
    uint r = at.y + 1, c = at.x + 1;
    tile[r][c] = x[p.y * n + p.x];
    if (at.x == 0) tile[r][0] = p.x > 0 ? x[p.y * n + p.x - 1] : 0.0f;
    if (at.x == 15) tile[r][17] = p.x + 1 < n ? x[p.y * n + p.x + 1] : 0.0f;
    if (at.y == 0) tile[0][c] = p.y > 0 ? x[(p.y - 1) * n + p.x] : 0.0f;
    if (at.y == 15) tile[17][c] = p.y + 1 < n ? x[(p.y + 1) * n + p.x] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[p.y * n + p.x] = 0.2f * (tile[r][c] + tile[r - 1][c] + tile[r + 1][c] + tile[r][c - 1] + tile[r][c + 1]);
}

// assay: launch stencil_tile --size N=512 --grid N,N --threadgroup 16,16 --arg y=zeros:f32:N*N --arg x=random:f32:N*N --arg n=N
