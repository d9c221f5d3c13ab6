#include <metal_stdlib>
using namespace metal;

#ifndef TM
#define TM 1
#endif
#ifndef TN
#define TN 1
#endif

// assay: launch sums --size N=4096 --grid N/TM --threadgroup 64 --arg x=random:N*TN --arg y=zeros:N
kernel void sums(device const float *x, device float *y, uint i [[thread_position_in_grid]]) {
    for (uint m = 0; m < TM; ++m) {
        float sum = 0;
        for (uint n = 0; n < TN; ++n) {
            sum += x[(i * TM + m) * TN + n] * (1.0f / TN);
        }
        y[i * TM + m] = sum;
    }
}
