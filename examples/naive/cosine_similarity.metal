// Cosine of the angle between rows of two matrices: a thread per row, three sums in one loop.
#include <metal_stdlib>
using namespace metal;

kernel void cosine_similarity(device float *y [[buffer(0)]],
                              device const float *a [[buffer(1)]],
                              device const float *b [[buffer(2)]],
                              constant uint &rows [[buffer(3)]],
                              constant uint &columns [[buffer(4)]],
                              uint row [[thread_position_in_grid]]) {
    if (row >= rows) return;
    float dot = 0, aa = 0, bb = 0;
    for (uint i = 0; i < columns; i++) {
        float p = a[row * columns + i], q = b[row * columns + i];
        dot += p * q;
        aa += p * p;
        bb += q * q;
    }
    y[row] = dot * rsqrt(aa * bb);
}

// assay: launch cosine_similarity --size R=4096 --size C=1024 --grid R --threadgroup 64 --buffer 0=zeros:f32:R --buffer 1=random:f32:R*C --buffer 2=random:f32:R*C --bytes 3=u32:R --bytes 4=u32:C
