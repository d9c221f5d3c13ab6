// A negative of an image, a byte per thread.
#include <metal_stdlib>
using namespace metal;

kernel void invert(device uchar *y, device const uchar *x, uint i [[thread_position_in_grid]]) {
    y[i] = 255 - x[i]; // fault: narrow-loads
}

// assay: launch invert --size N=2097152 --grid N --threadgroup 256 --arg y=zeros:u8:N --arg x=index:u8:N:256
