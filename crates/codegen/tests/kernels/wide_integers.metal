// Integers of 128 bits. Metal has none, but the optimiser makes them of vectors whose elements it shifts out.

#include <metal_stdlib>
using namespace metal;

typedef unsigned __int128 wide;

static wide together(uint4 words) {
    return (wide)words.x | (wide)words.y << 32 | (wide)words.z << 64 | (wide)words.w << 96;
}

// What 128 bits give is what words give; otherwise the store is out of bounds, and no trial runs to its end.
kernel void bits_of_128(device const uint4 *in [[buffer(0)]], device ulong *out [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
    uint4 w = in[i];
    wide all = together(w);
    ulong low = (ulong)w.y << 32 | w.x, high = (ulong)w.w << 32 | w.z;
    ulong wrong = (ulong)(all >> 40) ^ (low >> 40 | high << 24);
    wrong |= (ulong)((all << 72) >> 64) ^ low << 8;
    wrong |= (ulong)((__int128)all >> 100) ^ (ulong)((long)high >> 36);
    wrong |= (ulong)((__int128)(int)w.x >> 64) ^ (ulong)((int)w.x >> 31);
    wrong |= (uint)(all >> 96) ^ w.w;
    wrong |= (all == together(w.xyzz)) != (w.w == w.z);
    wrong |= ((ulong)((all ^ (wide)low) >> 64) ^ high) | (ulong)(all ^ (wide)low);
    wrong |= (ushort)(all >> 20) ^ (ushort)(low >> 20);
    out[wrong != 0 ? 1ul << 40 : i] = (ulong)(all >> 33);
}
