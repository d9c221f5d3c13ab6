// Cosine of the angle between the rows of two matrices.
#include <metal_stdlib>
using namespace metal;
#include "team.h"

kernel void cosine_similarity_f32(device const float *x [[buffer(0)]],
                                  device const float *z [[buffer(1)]],
                                  device float *y [[buffer(2)]],
                                  constant uint &cols [[buffer(3)]],
                                  TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    z += group.y * cols;
    float product = team.sum_of(x, z, cols, Product());
    float xx = team.sum_of(x, cols, Square());
    float zz = team.sum_of(z, cols, Square());
    if (index == 0) y[group.y] = product / (sqrt(xx) * sqrt(zz) + 1e-8f);
}
