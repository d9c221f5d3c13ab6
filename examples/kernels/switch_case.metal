// Eight ways through a switch, one of them a loop.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void switch_case(device float *o [[buffer(0)]],
                        device const int *op [[buffer(1)]],
                        device const float *a [[buffer(2)]],
                        device const float *b [[buffer(3)]],
                        uint i [[thread_position_in_grid]]) {
    float x = a[i], y = b[i], r;
    switch (op[i]) {
    case 0: r = x + y; break;
    case 1: r = x - y; break;
    case 2: r = x * y; break;
    case 3: r = fast::divide(x, y); break;
    case 4: r = fmin(x, y); break;
    case 5: r = fmax(x, y); break;
    case 6: o[i + 1024] = x; r = fast::sin(x); break;
    case 7: {
        r = 0.0f;
        for (int k = 0; k < int(y); ++k) r = r * x + 1.0f;
        break;
    }
    default: r = 0.0f;
    }
    o[i] = r;
}
