// silu of one product of matrices times another: silu(x wg) (x wu). The gate goes to the output first; the thread that
// stored an element of it reads it back.
#include <metal_stdlib>
using namespace metal;
#include "activation.h"
#include "tile.h"

struct Gate {
    device float *y;
    uint width;
    void operator()(uint row, uint col, float value) const {
        device float &element = y[row * width + col];
        element = silu(element) * value;
    }
};

kernel void swiglu_f32(device const float *x [[buffer(0)]],
                       device const float *wg [[buffer(1)]],
                       device const float *wu [[buffer(2)]],
                       device float *y [[buffer(3)]],
                       constant uint &m [[buffer(4)]],
                       constant uint &n [[buffer(5)]],
                       constant uint &k [[buffer(6)]],
                       TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    multiply_tile(m, n, k, group.xy, index, lane, simdgroup, memory,
                  Matrix<float>{x, k}, Matrix<float>{wg, n}, StoreMatrix<float, Same>{y, n, Same()});
    threadgroup_barrier(mem_flags::mem_threadgroup);
    multiply_tile(m, n, k, group.xy, index, lane, simdgroup, memory,
                  Matrix<float>{x, k}, Matrix<float>{wu, n}, Gate{y, n});
}
