#include <metal_stdlib>
using namespace metal;
// assay: launch argmax --size R=2048 --size C=1000 --grid R --threadgroup 64 --buffer 0=random:f32:RxC --buffer 1=zeros:u32:R --bytes 2=u32:C --bytes 3=u32:R
kernel void argmax(device const float *x [[buffer(0)]], device uint *y [[buffer(1)]], constant uint &columns [[buffer(2)]],
                   constant uint &rows [[buffer(3)]], uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float most = -INFINITY;
    uint at = 0;
    for (uint c = 0; c < columns; c++) {
        float value = x[row * columns + c];
        if (value > most) {
            most = value;
            at = c;
        }
    }
    y[row] = at;
}
