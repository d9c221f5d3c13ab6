// Division and remainder by variables and by constants.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void int_div_mod(device int *o [[buffer(0)]],
                        device const int *x [[buffer(1)]],
                        device const int *y [[buffer(2)]],
                        uint i [[thread_position_in_grid]]) {
    int a = x[i], b = y[i];
    o[i * 4] = a / b;
    o[i * 4 + 1] = a % b;
    o[i * 4 + 2] = int(uint(a) / 7u);
    o[i * 4 + 3] = a % 10;
}
