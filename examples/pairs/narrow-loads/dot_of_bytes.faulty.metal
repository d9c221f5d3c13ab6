// Rows of signed bytes times a vector, a simdgroup per row.
#include <metal_stdlib>
using namespace metal;

kernel void rows_times(device float *y, device const char *m, device const char *v, constant uint &n,
                       uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    int sum = 0;
    for (uint k = lane; k < n; k += 32)
        sum += int(m[row * n + k]) * int(v[k]); // fault: narrow-loads
    sum = simd_sum(sum);
    if (lane == 0) y[row] = float(sum);
}

// assay: launch rows_times --size R=2048 --size N=2048 --grid R*32 --threadgroup 32 --arg y=zeros:f32:R --arg m=index:i8:R*N:100 --arg v=index:i8:N:100 --arg n=N
