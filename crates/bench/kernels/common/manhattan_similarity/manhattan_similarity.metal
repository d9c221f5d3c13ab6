// Sum of magnitudes of the differences of the rows of two matrices.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

struct Distance {
    float operator()(float x, float z) const { return fabs(x - z); }
};

kernel void manhattan_similarity_f32(device const float *x [[buffer(0)]],
                                     device const float *z [[buffer(1)]],
                                     device float *y [[buffer(2)]],
                                     constant uint &cols [[buffer(3)]],
                                     TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    z += group.y * cols;
    float sum = team.sum_of(x, z, cols, Distance());
    if (index == 0) y[group.y] = sum;
}
