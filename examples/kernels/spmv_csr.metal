// Sparse matrix times vector, one row per thread.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void spmv_csr(device float *y [[buffer(0)]],
                     device const int *rp [[buffer(1)]],
                     device const int *ci [[buffer(2)]],
                     device const float *v [[buffer(3)]],
                     device const float *x [[buffer(4)]],
                     constant int &n [[buffer(5)]],
                     uint g [[thread_position_in_grid]]) {
    int r = int(g);
    if (r >= n) {
        return;
    }
    float a = 0.0f;
    for (int k = rp[r]; k < rp[r + 1]; ++k) {
        a = fma(v[k], x[ci[k]], a);
    }
    y[r] = a;
}
