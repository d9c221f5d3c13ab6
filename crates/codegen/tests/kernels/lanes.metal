// Across lanes, where some are masked off or the distance is not known.
#include <metal_stdlib>
using namespace metal;

kernel void shuffle_under_a_mask(device float* y [[buffer(0)]], device const uint* at [[buffer(1)]],
                                 uint i [[thread_position_in_grid]],
                                 uint lane [[thread_index_in_simdgroup]]) {
    float v = y[i];
    if (lane % 5 != 3) {
        // Only lanes that are here are asked for.
        uint from = (at[i] * 5 + lane) % 30;
        from -= from % 5 == 3 ? 1 : 0;
        v = simd_shuffle(v * 2.0f, ushort(from)) + 1.0f;
        v += simd_broadcast(v, ushort(at[0] % 3));
    }
    y[i] = v;
}

kernel void prefix_under_a_mask(device float* y [[buffer(0)]], device half* z [[buffer(1)]],
                                uint i [[thread_position_in_grid]],
                                uint lane [[thread_index_in_simdgroup]]) {
    float v = y[i];
    half h = z[i];
    if ((lane * 7) % 11 > 3) {
        v = simd_prefix_inclusive_sum(v) - simd_prefix_inclusive_product(v * 0.25f + 1.0f);
        h = simd_prefix_inclusive_sum(h) + quad_prefix_inclusive_sum(h);
    }
    y[i] = v;
    z[i] = h;
}

kernel void fill_by_a_varying_distance(device float* y [[buffer(0)]], device const float* x [[buffer(1)]],
                                       device const uint* by [[buffer(2)]], constant uint& all [[buffer(3)]],
                                       uint i [[thread_position_in_grid]]) {
    float v = y[i], f = x[i];
    float sum = simd_shuffle_and_fill_up(v, f, ushort(by[i] % 33));
    sum -= simd_shuffle_and_fill_down(v, f, ushort(by[i] % 33));
    sum += 2.0f * simd_shuffle_and_fill_up(v, f, ushort(all & 31));
    sum -= 2.0f * simd_shuffle_and_fill_down(v, f, ushort(all & 31));
    sum += 4.0f * simd_shuffle_and_fill_up(v, f, ushort(by[i] % 9), ushort(8));
    sum -= 4.0f * simd_shuffle_and_fill_down(v, f, ushort(by[i] % 9), ushort(8));
    y[i] = sum;
}

kernel void reduce_under_a_mask(device uint* y [[buffer(0)]], device uchar* z [[buffer(1)]],
                                device bfloat* b [[buffer(3)]],
                                uint i [[thread_position_in_grid]],
                                uint lane [[thread_index_in_simdgroup]]) {
    if ((lane * 5) % 7 > 2) {
        y[i] = simd_product(y[i] | 1) + quad_product(y[i] + 3);
        z[i] = simd_product(z[i]);
        b[i] = simd_sum(b[i]) + simd_max(b[i]) * quad_sum(b[i]);
    }
}

kernel void first_of_all_and_of_some(device uint* y [[buffer(0)]], device half* z [[buffer(1)]],
                                     uint i [[thread_position_in_grid]],
                                     uint lane [[thread_index_in_simdgroup]]) {
    y[i] += simd_broadcast_first(y[i] * 3) + 7 * quad_broadcast_first(y[i] + 1);
    z[i] += quad_broadcast_first(z[i] * 2.0h);
    if ((lane * 3) % 5 > 1) {
        y[i] ^= simd_broadcast_first(y[i] + lane) + 5 * quad_broadcast_first(y[i] ^ lane);
        z[i] -= quad_broadcast_first(z[i]) + simd_broadcast_first(z[i] + 1.0h);
    }
}
