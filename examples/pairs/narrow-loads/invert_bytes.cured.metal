// A negative of an image, a byte per thread. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void invert(device uchar4 *y, device const uchar4 *x, uint i [[thread_position_in_grid]]) {
    y[i] = 255 - x[i];
}

// assay: launch invert --size N=2097152 --grid N/4 --threadgroup 256 --arg y=zeros:u8:N --arg x=index:u8:N:256
