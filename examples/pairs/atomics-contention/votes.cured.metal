// Votes for four candidates, counted in device memory. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void votes(device atomic_uint *counts, device const uchar *x, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
    uint own = 0;
    for (uint k = 0; k < 8; k++) own += 1u << (8 * (x[i + k * 131072] & 3));
    uint even = simd_sum(own & 0x00ff00ffu), odd = simd_sum((own >> 8) & 0x00ff00ffu);
    if (lane < 4) {
        uint pair = lane & 1 ? odd : even;
        uint count = lane & 2 ? pair >> 16 : pair & 0xffffu;
        atomic_fetch_add_explicit(counts + lane, count, memory_order_relaxed);
    }
}

// assay: launch votes --size N=131072 --grid N --threadgroup 256 --arg counts=zeros:u32:4 --arg x=index:u8:N*8:256
