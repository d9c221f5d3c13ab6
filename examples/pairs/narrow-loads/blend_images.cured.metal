// A blend of two images of 16-bit channels by a mask of bytes. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void blend(device ushort4 *out, device const ushort4 *a, device const ushort4 *b, device const uchar4 *mask,
                  uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]]) {
    uint i = at.y * size.x + at.x;
    uint4 m = uint4(mask[i]);
    out[i] = ushort4((uint4(a[i]) * m + uint4(b[i]) * (255 - m)) >> 8);
}

// assay: launch blend --size W=1024 --size H=768 --grid W/4,H --threadgroup 64,4 --arg out=zeros:u16:W*H --arg a=index:u16:W*H:60000 --arg b=index:u16:W*H:60000 --arg mask=index:u8:W*H:256
