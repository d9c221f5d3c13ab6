// The k largest numbers of every row, largest first. Each round finds the largest of those that come after the one
// found before, numbers first and places second, so equal numbers are all found and nothing is marked.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

kernel void top_k_f32(device const float *x [[buffer(0)]],
                      device float *y [[buffer(1)]],
                      constant uint &cols [[buffer(2)]],
                      constant uint &k [[buffer(3)]],
                      TEAM_PARAMETERS) {
    threadgroup float shared[32];
    threadgroup uint places[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    float last = INFINITY;
    uint last_place = 0;
    for (uint round = 0; round < k; ++round) {
        float best = -INFINITY;
        uint place = 0xffffffffu;
        for (uint i = index; i < cols; i += team.count) {
            float v = x[i];
            bool open = round == 0 || v < last || (v == last && i > last_place);
            if (open && (v > best || place == 0xffffffffu)) {
                best = v;
                place = i;
            }
        }
        last = team.largest(best);
        uint first = simd_min(best == last ? place : 0xffffffffu);
        if (lane == 0) places[simdgroup] = first;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        last_place = simd_min(lane < simdgroups ? places[lane] : 0xffffffffu);
        if (index == 0) y[group.y * k + round] = last;
    }
}
