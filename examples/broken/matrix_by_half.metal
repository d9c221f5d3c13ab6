// A simdgroup holds a matrix together; half of it cannot store one.
// dispatch: 64 threads by 32; buffers of 64 and 64 numbers
#include <metal_stdlib>
using namespace metal;

kernel void matrix_by_half(device float *out [[buffer(0)]],
                           device const float *in [[buffer(1)]],
                           uint group [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]]) {
    if (group > 0) {
        return;
    }
    simdgroup_float8x8 m;
    simdgroup_load(m, in, 8);
    if (lane < 16) {
        simdgroup_store(m, out, 8); // expect: partial-matrix
    }
}
