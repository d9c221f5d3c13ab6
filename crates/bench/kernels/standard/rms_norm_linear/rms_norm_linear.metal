// Root-mean-square norm of every row, then the product with a transposed matrix. The norm only scales a row, so it is
// applied to the row of the product.
#include <metal_stdlib>
using namespace metal;
#include "team.h"
#include "tile.h"

kernel void rms_norm_linear_factors_f32(device const float *x [[buffer(0)]],
                                        device float *factors [[buffer(1)]],
                                        constant uint &k [[buffer(2)]],
                                        constant float &eps [[buffer(3)]],
                                        TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    float square = team.sum_of(x + group.y * k, k, Square()) / float(k);
    if (index == 0) factors[group.y] = rsqrt(square + eps);
}

struct ScaleRow {
    device float *y;
    device const float *factors;
    uint width;
    void operator()(uint row, uint col, float value) const { y[row * width + col] = value * factors[row]; }
};

kernel void rms_norm_linear_f32(device const float *x [[buffer(0)]],
                                device const float *w [[buffer(1)]],
                                device float *y [[buffer(2)]],
                                constant uint &m [[buffer(3)]],
                                constant uint &n [[buffer(4)]],
                                constant uint &k [[buffer(5)]],
                                device const float *factors [[buffer(6)]],
                                TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    multiply_tile(m, n, k, group.xy, index, lane, simdgroup, memory,
                  Matrix<float>{x, k}, Transposed<float>{w, k}, ScaleRow{y, factors, n});
}
