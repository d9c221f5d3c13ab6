// A histogram of 16 bins in device memory. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device atomic_uint *bins, device const uchar *x, uint i [[thread_position_in_grid]],
                      uint tid [[thread_position_in_threadgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]]) {
    uint counts[4] = {0, 0, 0, 0};
    for (uint k = 0; k < 8; k++) {
        uint bin = x[i + k * 131072] >> 4;
        counts[bin >> 2] += 1u << (8 * (bin & 3));
    }
    for (uint b = 0; b < 4; b++) {
        uint low = simd_sum(counts[b] & 0x00ff00ffu), high = simd_sum((counts[b] >> 8) & 0x00ff00ffu);
        if (lane < 4) {
            uint pair = lane & 1 ? high : low;
            uint count = lane & 2 ? pair >> 16 : pair & 0xffffu;
            atomic_fetch_add_explicit(bins + b * 4 + lane, count, memory_order_relaxed);
        }
    }
}

// assay: launch histogram --size N=131072 --grid N --threadgroup 256 --arg bins=zeros:u32:16 --arg x=index:u8:N*8:256
