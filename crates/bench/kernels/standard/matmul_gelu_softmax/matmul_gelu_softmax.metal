// Softmax of the rows of the gelu, with erf, of a product of two matrices: a product, then the rows.
#include <metal_stdlib>
using namespace metal;
#include "activation.h"
#include "team.h"
#include "tile.h"

struct Activate {
    float operator()(float value, uint) const { return gelu(value); }
};
struct Softmax {
    float shift, factor;
    float operator()(float x) const { return exp(x - shift) * factor; }
};

kernel void matmul_gelu_f32(device const float *x [[buffer(0)]],
                            device const float *w [[buffer(1)]],
                            device float *logits [[buffer(2)]],
                            constant uint &m [[buffer(3)]],
                            constant uint &n [[buffer(4)]],
                            constant uint &k [[buffer(5)]],
                            TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    multiply_tile(m, n, k, group.xy, index, lane, simdgroup, memory,
                  Matrix<float>{x, k}, Matrix<float>{w, n}, StoreMatrix<float, Activate>{logits, n, Activate()});
}

kernel void row_softmax_f32(device const float *logits [[buffer(0)]],
                            device float *y [[buffer(1)]],
                            constant uint &n [[buffer(2)]],
                            TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    logits += group.y * n;
    y += group.y * n;
    float shift = team.largest_of(logits, n);
    float sum = team.sum_of(logits, n, ShiftedExponential{shift});
    team.each(logits, y, n, Softmax{shift, 1.0f / sum});
}
