// Thread arrays filled under a condition: that they have two elements bounds the loop that fills them, and a third round is
// unreachable. From there no lane comes to the loop at the end, whose start is handed over where the loop before it is left.
#include <metal_stdlib>
using namespace metal;

kernel void filled_pairs(device uint* o [[buffer(0)]], device const uint* x [[buffer(1)]],
                         uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint tile[3072], kept[2048];
    for (uint k = t & 31; k < 3072; k += 32) tile[k] = k * 0x9e3779b9u;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint round = 0; round < 4; ++round) {
        uint found[2], places[2], count = 0;
        for (uint place = t; place < 2048; place += 1024) {
            uint all = 0;
            for (uint k = 0; k < 64; ++k) all = all * 3 + tile[place / 32 * 8 + k] * tile[k * 32 + place % 32];
            found[count] = all;
            places[count] = place;
            count++;
        }
        for (uint k = 0; k < count; ++k) kept[places[k]] = found[k] + round;
    }
    uint sum = t;
    do { sum = sum * 5 + 1; } while (sum & 96);
    o[i] = sum + kept[t] + kept[t + 1024] * x[i];
}
