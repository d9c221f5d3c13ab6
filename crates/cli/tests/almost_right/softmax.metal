#include <metal_stdlib>
using namespace metal;
// assay: launch softmax --size R=1024 --size C=1024 --grid R*64 --threadgroup 64 --buffer 0=random:f32:RxC --buffer 1=zeros:f32:RxC --bytes 2=u32:C
kernel void softmax(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &columns [[buffer(2)]],
                    uint row [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup float part[64];
    device const float *from = x + row * columns;
    float most = -INFINITY;
    for (uint c = t; c < columns; c += 64) most = max(most, from[c]);
    part[t] = most;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint half_way = 32; half_way > 0; half_way /= 2) {
        if (t < half_way) part[t] = max(part[t], part[t + half_way]);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    most = part[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0.0f;
    for (uint c = t; c < columns; c += 64) sum += exp(from[c] - most);
    part[t] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint half_way = 32; half_way > 0; half_way /= 2) {
        if (t < half_way) part[t] += part[t + half_way];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    float scale = 1.0f / part[0];
    for (uint c = t; c < columns; c += 64) y[row * columns + c] = exp(from[c] - most) * scale;
}
