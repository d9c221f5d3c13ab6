#include <metal_stdlib>
using namespace metal;
// assay: launch norm --size R=1024 --size C=768 --grid R --threadgroup 32 --buffer 0=random:f16:RxC --buffer 1=zeros:f16:RxC --bytes 2=u32:C --bytes 3=u32:R
kernel void norm(device const half *x [[buffer(0)]], device half *y [[buffer(1)]], constant uint &columns [[buffer(2)]],
                 constant uint &rows [[buffer(3)]], uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float sum = 0.0f;
    for (uint c = 0; c < columns; c++) {
        float value = float(x[row * columns + c]);
        sum += value * value;
    }
    float scale = rsqrt(sum / float(columns) + 1e-5f);
    for (uint c = 0; c < columns; c++) {
        y[row * columns + c] = half(float(x[row * columns + c]) * scale);
    }
}
