// Indices that leave a row or a member, and stay inside the array or struct that it is a part of.
// assay: launch --grid 64 --threadgroup 64 --buffer 0=random:f32:64 --buffer 1=random:f32:64 --buffer 2=zeros:f32:1024
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], device float *z [[buffer(2)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]
#define MEET threadgroup_barrier(mem_flags::mem_threadgroup)

struct Block { float scales[4]; float values[12]; };
struct Nested { int count; Block blocks[2]; };

kernel void next_row(ARGS) {
    threadgroup float tile[8][8];
    tile[t / 8][t % 8] = y[i];
    MEET;
    x[i] = tile[t / 16][t % 8 + 1]; // fault: out-of-bounds
}
kernel void row_written(ARGS) {
    threadgroup float tile[9][8];
    tile[t / 8][t % 8 + 1] = y[i]; // fault: out-of-bounds
    MEET;
    x[i] = tile[t / 8][1];
}
kernel void row_before(ARGS) {
    threadgroup float tile[8][8];
    tile[t / 8][t % 8] = y[i];
    MEET;
    x[i] = tile[4][int(t % 8) - 1]; // fault: out-of-bounds
}
kernel void whole_tile_by_one_row(ARGS) {
    threadgroup float tile[8][8];
    tile[0][t] = y[i]; // fault: out-of-bounds
    MEET;
    x[i] = tile[t / 8][t % 8];
}
kernel void rows_of_a_variable(ARGS) {
    float m[3][3] = {};
    for (uint k = 0; k < 4; k++)
        m[1][k] = y[k]; // fault: out-of-bounds
    x[i] = m[1][t % 3] + m[2][0];
}
kernel void member_into_the_next(ARGS) {
    Block b = {};
    for (uint k = 0; k <= 4; k++)
        b.scales[k] = y[k]; // fault: out-of-bounds
    x[i] = b.scales[t % 4] + b.values[0];
}
kernel void member_read(ARGS) {
    Block b = {};
    b.values[0] = 1;
    x[i] = b.scales[4 + t % 2]; // fault: out-of-bounds
}
kernel void member_in_threadgroup_memory(ARGS) {
    threadgroup Block b[4];
    if (t < 48) b[t / 12].values[t % 12] = y[i];
    if (t < 16) b[t / 4].scales[t % 4] = 1;
    MEET;
    x[i] = b[0].scales[t % 5]; // fault: out-of-bounds
}
kernel void member_in_device_memory(ARGS) {
    device Block *b = (device Block *)z;
    x[i] = b[t / 4].scales[t % 4 + 1]; // fault: out-of-bounds
}
kernel void nested_member(ARGS) {
    Nested n = {};
    n.count = 2;
    for (int k = 0; k <= n.count; k++)
        n.blocks[k % 2].scales[k + 2] = 1; // fault: out-of-bounds
    x[i] = n.blocks[0].scales[t % 4];
}
kernel void array_of_structs_by_reference(ARGS) {
    Nested n = {};
    thread auto &blocks = n.blocks;
    uint last = t % 3;
    blocks[last].scales[0] = 1; // fault: out-of-bounds
    x[i] = n.blocks[0].scales[0];
}
float weigh(thread const float (&w)[4], uint k) {
    return w[k]; // fault: out-of-bounds in reference_to_an_array
}
kernel void reference_to_an_array(ARGS) {
    float both[2][4] = {};
    x[i] = weigh(both[0], t % 5);
}
