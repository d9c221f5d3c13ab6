// Sums of halves, one per thread.
#include <metal_stdlib>
using namespace metal;

kernel void add(device half *c, device const half *a, device const half *b, uint i [[thread_position_in_grid]]) {
    c[i] = a[i] + b[i]; // fault: narrow-loads
}

// assay: launch add --size N=1048576 --grid N --threadgroup 256 --arg c=zeros:f16:N --arg a=random:f16:N --arg b=random:f16:N
