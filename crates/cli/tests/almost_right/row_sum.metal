#include <metal_stdlib>
using namespace metal;
// assay: launch row_sum --size R=4096 --size C=512 --grid R --threadgroup 64 --buffer 0=random:f32:RxC --buffer 1=zeros:f32:R --bytes 2=u32:C --bytes 3=u32:R
kernel void row_sum(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &columns [[buffer(2)]],
                    constant uint &rows [[buffer(3)]], uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float sum = 0.0f;
    for (uint c = 0; c < columns; c++) {
        sum += x[row * columns + c];
    }
    y[row] = sum;
}
