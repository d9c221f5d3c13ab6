// Sizes of threadgroups, where the last of a row are smaller.
#include <metal_stdlib>
using namespace metal;

kernel void groups_of_dispatch_and_own(device uint* y [[buffer(0)]],
                                       ushort simdgroups [[dispatch_simdgroups_per_threadgroup]],
                                       ushort quadgroups [[dispatch_quadgroups_per_threadgroup]],
                                       ushort3 size [[dispatch_threads_per_threadgroup]],
                                       ushort own_simdgroups [[simdgroups_per_threadgroup]],
                                       ushort own_quadgroups [[quadgroups_per_threadgroup]],
                                       ushort3 own_size [[threads_per_threadgroup]],
                                       uint3 at [[thread_position_in_grid]], uint3 grid [[threads_per_grid]]) {
    uint i = (at.z * grid.y + at.y) * grid.x + at.x;
    y[4 * i] = simdgroups * 100 + quadgroups;
    y[4 * i + 1] = own_simdgroups * 100 + own_quadgroups;
    y[4 * i + 2] = size.x * 10000 + size.y * 100 + size.z;
    y[4 * i + 3] = own_size.x * 10000 + own_size.y * 100 + own_size.z;
}
