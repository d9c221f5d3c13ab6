// Sums of halves, one per thread. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void add(device half4 *c, device const half4 *a, device const half4 *b, uint i [[thread_position_in_grid]]) {
    c[i] = a[i] + b[i];
}

// assay: launch add --size N=1048576 --grid N/4 --threadgroup 256 --arg c=zeros:f16:N --arg a=random:f16:N --arg b=random:f16:N
