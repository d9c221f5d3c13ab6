// Softmax of every row: a thread per row, three passes over it.
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device float *y [[buffer(0)]],
                    device const float *x [[buffer(1)]],
                    constant uint &rows [[buffer(2)]],
                    constant uint &columns [[buffer(3)]],
                    uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float most = -INFINITY;
    for (uint i = 0; i < columns; i++) most = max(most, x[row * columns + i]);
    float sum = 0;
    for (uint i = 0; i < columns; i++) sum += exp(x[row * columns + i] - most);
    for (uint i = 0; i < columns; i++) y[row * columns + i] = exp(x[row * columns + i] - most) / sum;
}

// assay: launch softmax --size R=4096 --size C=1024 --grid R --threadgroup 64 --buffer 0=zeros:f32:R*C --buffer 1=random:f32:R*C --bytes 2=u32:R --bytes 3=u32:C
