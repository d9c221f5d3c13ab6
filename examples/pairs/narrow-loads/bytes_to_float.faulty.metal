// Bytes to floats, a byte per turn.
#include <metal_stdlib>
using namespace metal;

kernel void widen(device float *y, device const uchar *x, constant uint &n, uint i [[thread_position_in_grid]],
                  uint threads [[threads_per_grid]]) {
    float sum = 0;
    for (uint k = i; k < n; k += threads)
        sum += float(x[k]); // fault: narrow-loads
    y[i] = sum;
}

// assay: launch widen --size N=4194304 --grid 32768 --threadgroup 256 --arg y=zeros:f32:32768 --arg x=index:u8:N:256 --arg n=N
