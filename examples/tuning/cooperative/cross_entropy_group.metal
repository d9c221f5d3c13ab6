// Loss of rows by their labels: two loops by one thread behind a staged row.
#include <metal_stdlib>
using namespace metal;

kernel void cross_entropy_group(device float *y, device const float *x, device const uint *label,
                                constant uint &columns, threadgroup float *line [[threadgroup(0)]], uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    for (uint c = tid; c < columns; c += 128) line[c] = x[row * columns + c];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) {
        float most = -INFINITY, sum = 0;
        for (uint c = 0; c < columns; c++) most = max(most, line[c]);
        for (uint c = 0; c < columns; c++) sum += exp(line[c] - most);
        y[row] = most + log(sum) - line[label[row]];
    }
}

// assay: launch cross_entropy_group --size R=512 --size C=512 --groups R --threadgroup 128 --tgmem 0=C*4 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg label=index:u32:R:C --arg columns=C
