// Eight chains of multiply-adds, nothing else.
#include <metal_stdlib>
using namespace metal;

kernel void multiply_add(device float *out [[buffer(0)]],
                         constant uint &rounds [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    float x = float(i & 7) * 0.125f, y = 0.5f;
    float a = x, b = x + 1, c = x + 2, d = x + 3, e = x + 4, f = x + 5, g = x + 6, h = x + 7;
    for (uint round = 0; round < rounds; ++round) {
        a = fma(a, y, x); b = fma(b, y, x); c = fma(c, y, x); d = fma(d, y, x);
        e = fma(e, y, x); f = fma(f, y, x); g = fma(g, y, x); h = fma(h, y, x);
    }
    out[i] = a + b + c + d + e + f + g + h;
}
