#include <metal_stdlib>
using namespace metal;
// assay: launch column_sum --size R=2048 --size C=512 --grid C --threadgroup 64 --buffer 0=random:f32:RxC --buffer 1=zeros:f32:C --bytes 2=u32:C --bytes 3=u32:R
kernel void column_sum(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &columns [[buffer(2)]],
                       constant uint &rows [[buffer(3)]], uint column [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
    if (column >= columns) return;
    float sum = 0.0f;
    for (uint r = 0; r < rows; r++) {
        sum += x[r * columns + column];
    }
    y[column] = sum;
}
