// Bytes to floats, a byte per turn. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void widen(device float *y, device const uchar *x, constant uint &n, uint i [[thread_position_in_grid]],
                  uint threads [[threads_per_grid]]) {
    float sum = 0;
    device const uchar4 *four = (device const uchar4 *)x;
    for (uint k = i; k < n / 4; k += threads) {
        float4 v = float4(four[k]);
        sum += v.x + v.y + v.z + v.w;
    }
    y[i] = sum;
}

// assay: launch widen --size N=4194304 --grid 32768 --threadgroup 256 --arg y=zeros:f32:32768 --arg x=index:u8:N:256 --arg n=N
