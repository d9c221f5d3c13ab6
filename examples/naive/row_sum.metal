// Sum of every row: a thread per row, so that neighbouring threads read far apart.
#include <metal_stdlib>
using namespace metal;

kernel void row_sum(device float *y [[buffer(0)]],
                    device const float *x [[buffer(1)]],
                    constant uint &rows [[buffer(2)]],
                    constant uint &columns [[buffer(3)]],
                    uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float sum = 0;
    for (uint i = 0; i < columns; i++) sum += x[row * columns + i];
    y[row] = sum;
}

// assay: launch row_sum --size R=4096 --size C=1024 --grid R --threadgroup 64 --buffer 0=zeros:f32:R --buffer 1=random:f32:R*C --bytes 2=u32:R --bytes 3=u32:C
