// Kernels as users write them: one element a thread.
#include <metal_stdlib>
using namespace metal;

kernel void axpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant float &a [[buffer(2)]],
                 constant uint &n [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    if (i >= n)
        return;
    y[i] = a * x[i] + y[i];
}

kernel void relu(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &n [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    if (i < n)
        y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

kernel void leaky_relu(device const half *x [[buffer(0)]], device half *y [[buffer(1)]],
                       constant float &slope [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    float v = float(x[i]);
    y[i] = half(v >= 0.0f ? v : v * slope);
}

kernel void gelu(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    float v = x[i];
    float inner = 0.7978845608f * (v + 0.044715f * v * v * v);
    y[i] = 0.5f * v * (1.0f + tanh(inner));
}

kernel void difference(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                       device float *c [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    c[i] = a[i] - b[i];
}

kernel void clamp_range(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                        constant float &low [[buffer(2)]], constant float &high [[buffer(3)]],
                        uint i [[thread_position_in_grid]]) {
    y[i] = min(max(x[i], -low), high);
}

kernel void adam(device float *w [[buffer(0)]], device const float *g [[buffer(1)]], device float *m [[buffer(2)]],
                 device float *v [[buffer(3)]], constant float &rate [[buffer(4)]], constant float &beta [[buffer(5)]],
                 uint i [[thread_position_in_grid]]) {
    m[i] = beta * m[i] + (1.0f - beta) * g[i];
    v[i] = beta * v[i] + (1.0f - beta) * g[i] * g[i];
    w[i] -= rate * m[i] / (sqrt(abs(v[i])) + 1e-4f);
}

kernel void rope(device const float2 *x [[buffer(0)]], device float2 *y [[buffer(1)]],
                 constant float &theta [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    float angle = float(i) * theta;
    float c = cos(angle), s = sin(angle);
    y[i] = float2(x[i].x * c - x[i].y * s, x[i].x * s + x[i].y * c);
}

kernel void gather(device const float *table [[buffer(0)]], device const uint *index [[buffer(1)]],
                   device float *out [[buffer(2)]], constant uint &n [[buffer(3)]],
                   uint i [[thread_position_in_grid]]) {
    if (i >= n)
        return;
    uint at = index[i];
    out[i] = at < n ? table[at] : 0.0f;
}

kernel void quantize(device const float *x [[buffer(0)]], device char *q [[buffer(1)]],
                     constant float &scale [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    float v = rint(x[i] / scale * 127.0f);
    q[i] = char(clamp(v, -127.0f, 127.0f));
}
