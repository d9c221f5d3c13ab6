// A blend of two images of 16-bit channels by a mask of bytes.
#include <metal_stdlib>
using namespace metal;

kernel void blend(device ushort *out, device const ushort *a, device const ushort *b, device const uchar *mask,
                  uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]]) {
    uint i = at.y * size.x + at.x;
    uint m = mask[i];
    out[i] = ushort((a[i] * m + b[i] * (255 - m)) >> 8); // fault: narrow-loads
}

// assay: launch blend --size W=1024 --size H=768 --grid W,H --threadgroup 64,4 --arg out=zeros:u16:W*H --arg a=index:u16:W*H:60000 --arg b=index:u16:W*H:60000 --arg mask=index:u8:W*H:256
