// Every column shifted and scaled to mean 0 and variance 1. A lane per column, rows spread over the simdgroups.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

// The sum of a column's parts, for every simdgroup. `parts` has 32 floats per simdgroup.
inline float column_sum(float part, uint lane, uint simdgroup, uint simdgroups, threadgroup float *parts) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    parts[simdgroup * 32 + lane] = part;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0.0f;
    for (uint s = 0; s < simdgroups; ++s) sum += parts[s * 32 + lane];
    return sum;
}

kernel void batch_norm_f32(device const float *x [[buffer(0)]],
                           device float *y [[buffer(1)]],
                           constant uint &rows [[buffer(2)]],
                           constant uint &cols [[buffer(3)]],
                           constant float &eps [[buffer(4)]],
                           TEAM_PARAMETERS) {
    threadgroup float parts[32 * 32];
    uint column = group.x * 32 + lane;
    uint end = column < cols ? rows : 0;
    float sum = 0.0f;
    for (uint row = simdgroup; row < end; row += simdgroups) sum += x[row * cols + column];
    float mean = column_sum(sum, lane, simdgroup, simdgroups, parts) / float(rows);
    sum = 0.0f;
    for (uint row = simdgroup; row < end; row += simdgroups) {
        float difference = x[row * cols + column] - mean;
        sum += difference * difference;
    }
    float factor = rsqrt(column_sum(sum, lane, simdgroup, simdgroups, parts) / float(rows) + eps);
    for (uint row = simdgroup; row < end; row += simdgroups) {
        y[row * cols + column] = (x[row * cols + column] - mean) * factor;
    }
}
