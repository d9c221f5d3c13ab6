// Running sum of every row: a simdgroup a row, 32 elements at a time.
#include <metal_stdlib>
using namespace metal;

kernel void cumsum(device float *y, device const float *x, constant uint &rows, constant uint &columns,
                   uint thread_ [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint row = thread_ / 32;
    if (row >= rows) return;
    float before = 0;
    for (uint c = 0; c < columns; c += 32) {
        bool inside = c + lane < columns;
        float value = inside ? x[row * columns + c + lane] : 0.0f;
        float sum = before + simd_prefix_inclusive_sum(value);
        if (inside) y[row * columns + c + lane] = sum;
        before = simd_broadcast(sum, 31);
    }
}

// assay: launch cumsum --size R=1024 --size C=1024 --grid R*32 --threadgroup 256 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg rows=R --arg columns=C
