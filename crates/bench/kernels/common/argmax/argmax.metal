// Place of the largest number of every row, the first of several, as a float.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

kernel void argmax_f32(device const float *x [[buffer(0)]],
                       device float *y [[buffer(1)]],
                       constant uint &cols [[buffer(2)]],
                       TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    float best = -INFINITY;
    uint place = 0;
    for (uint i = index; i < cols; i += team.count) {
        if (x[i] > best) {
            best = x[i];
            place = i;
        }
    }
    float largest = team.largest(best);
    uint first = simd_min(best == largest ? place : 0xffffffffu);
    threadgroup uint places[32];
    if (lane == 0) places[simdgroup] = first;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    first = simd_min(lane < simdgroups ? places[lane] : 0xffffffffu);
    if (index == 0) y[group.y] = float(first);
}
