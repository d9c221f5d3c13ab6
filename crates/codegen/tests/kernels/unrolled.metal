// Loops unrolled by the number of their hint: how often they run is known only at run time. Neighbours in threadgroup memory
// are loaded together, at places that are counted up, counted down, and counted down past zero and up again.
#include <metal_stdlib>
using namespace metal;

kernel void unrolled_rows(device float* o [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                          uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[1088];
    tile[t] = x[i];
    if (t < 64) tile[1024 + t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint turns = (n + t) & 31, at = t;
    float sum = 0.0f;
#pragma unroll(4)
    for (uint z = 0; z < turns; z++, at++) sum = fma(tile[at], float(z), sum);
    uint down = t + 40;
#pragma unroll(3)
    for (uint z = turns; z > 5; z--, down--) sum -= tile[down - 1] * 0.5f;
#pragma unroll(2)
    for (ushort z = 0; z < ushort(turns); z += 3) sum += tile[ushort(z + 2)];
    uint wraps = 0xfffffff8u;
#pragma unroll(4)
    for (uint z = 0; z < turns; z++, wraps++) sum = fma(tile[wraps + 8], 2.0f, sum);
    o[i] = sum;
}
