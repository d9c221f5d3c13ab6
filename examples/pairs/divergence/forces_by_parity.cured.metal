// Two kinds of elements, dealt to lanes in turn. Cured.
#include <metal_stdlib>
using namespace metal;

float spring(float x) { for (uint k = 0; k < 24; k++) x = fma(x, 1.0001f, -0.3f * x * x); return x; }
float damper(float x) { for (uint k = 0; k < 24; k++) x = sqrt(fabs(x) + 0.25f) - 0.1f * x; return x; }

kernel void forces(device float *f, device const float *x, uint i [[thread_position_in_grid]]) {
    float v = x[i];
    if ((i >> 8) & 1)
        v = spring(v);
    else
        v = damper(v);
    f[i] = v;
}

// assay: launch forces --size N=262144 --grid N --threadgroup 256 --arg f=zeros:f32:N --arg x=random:f32:N
