// Mean of some rows of a table: a threadgroup a bag, its row numbers staged.
#include <metal_stdlib>
using namespace metal;

kernel void embedding_bag(device float *y, device const float *table, device const uint *row, constant uint &length,
                          constant uint &dim, threadgroup uint *own [[threadgroup(0)]],
                          uint bag [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    if (tid == 0)
        for (uint i = 0; i < length; i++) own[i] = row[bag * length + i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = tid; d < dim; d += 32) {
        float sum = 0;
        for (uint i = 0; i < length; i++) sum += table[own[i] * dim + d];
        y[bag * dim + d] = sum / float(length);
    }
}

// assay: launch embedding_bag --size B=256 --size L=32 --size D=128 --groups B --threadgroup 32 --arg y=zeros:f32:B*D --arg table=random:f32:1000*D --arg row=index:u32:B*L:1000 --arg length=L --arg dim=D --tgmem 0=L*4
