#include <metal_stdlib>
using namespace metal;
// assay: launch transpose --size R=1024 --size C=2048 --grid C,R --threadgroup 16,16 --buffer 0=random:f32:RxC --buffer 1=zeros:f32:CxR --bytes 2=u32:C --bytes 3=u32:R
kernel void transpose(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &columns [[buffer(2)]],
                      constant uint &rows [[buffer(3)]], uint2 g [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
    if (g.x >= columns || g.y >= rows) return;
    y[g.x * rows + g.y] = x[g.y * columns + g.x];
}
