// Softmax of the rows of x, as a first draft: a thread per row, three passes.
#include <metal_stdlib>
using namespace metal;

kernel void softmax_row(device float *out [[buffer(0)]],
                        device const float *x [[buffer(1)]],
                        constant uint &columns [[buffer(2)]],
                        uint row [[thread_position_in_grid]]) {
    device const float *from = x + row * columns;
    device float *to = out + row * columns;
    float sum = 0;
    for (uint i = 0; i < columns; i++) sum += exp(from[i]);
    for (uint i = 0; i < columns; i++) to[i] = exp(from[i]) / sum;
}
