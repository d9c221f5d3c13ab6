// Variables that are used and were never set.
// assay: launch --grid 64 --threadgroup 64 --buffer 0=random:f32:64 --buffer 1=random:f32:64 --buffer 2=iota:u32:64
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], device const uint *z [[buffer(2)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]

struct State { float sum; float peak; int count; };

kernel void accumulator(ARGS) {
    float sum;
    for (uint k = 0; k < 8; k++)
        sum += y[k]; // fault: uninitialised
    x[i] = sum;
}
kernel void counter(ARGS) {
    int n;
    for (uint k = 0; k < z[i]; k++)
        n++; // fault: uninitialised
    x[i] = n;
}
kernel void stored_as_it_is(ARGS) {
    float v;
    x[i] = v; // fault: uninitialised
}
kernel void one_branch(ARGS) {
    float v;
    if (y[i] > 0) v = 1;
    x[i] = v; // fault: uninitialised
}
kernel void one_branch_in_arithmetic(ARGS) {
    float v;
    if (i < 32) v = y[i];
    x[i] = v * 2; // fault: uninitialised
}
kernel void no_default(ARGS) {
    float v;
    switch (z[i] & 3) {
        case 0: v = 1; break;
        case 1: v = 2; break;
        case 2: v = 3; break;
    }
    x[i] = v + 1; // fault: uninitialised
}
kernel void loop_of_no_iterations(ARGS) {
    float last;
    for (uint k = 0; k < z[i]; k++) last = y[k];
    x[i] = last; // fault: uninitialised
}
kernel void flag(ARGS) {
    bool found;
    if (y[i] > 0.5f) found = true;
    if (found) // fault: uninitialised
        x[i] = 1;
}
kernel void half_sum(ARGS) {
    half sum;
    sum = sum + half(y[i]); // fault: uninitialised
    x[i] = sum;
}
kernel void small_integer(ARGS) {
    uchar c;
    x[i] = c + 1; // fault: uninitialised
}
kernel void wide_integer(ARGS) {
    ulong c;
    c += z[i]; // fault: uninitialised
    x[i] = float(c);
}
kernel void as_an_index(ARGS) {
    uint at;
    if (i & 1) at = 3;
    x[i] = y[at]; // fault: uninitialised
}
kernel void as_a_bound(ARGS) {
    int n;
    float s = 0;
    for (int k = 0; k < n; k++) // fault: uninitialised
        s += y[k & 63];
    x[i] = s;
}
kernel void a_pointer(ARGS) {
    device const float *p;
    if (i > 3) p = y;
    x[i] = p[i]; // fault: uninitialised
}
kernel void member(ARGS) {
    State s;
    s.sum = y[i];
    s.count = 1;
    x[i] = s.sum + s.peak; // fault: uninitialised
}
kernel void member_of_a_copy(ARGS) {
    State s;
    s.sum = y[i];
    State r = s;
    x[i] = r.sum * r.count; // fault: uninitialised
}
float scaled(State s) {
    return s.sum * s.peak; // fault: uninitialised in member_of_an_argument
}
kernel void member_of_an_argument(ARGS) {
    State s;
    s.sum = y[i];
    s.count = 0;
    x[i] = scaled(s);
}
kernel void component(ARGS) {
    float4 v;
    v.xyz = float3(y[i]);
    x[i] = dot(v, float4(1)); // fault: uninitialised
}
kernel void single_component(ARGS) {
    float3 v;
    v.x = y[i];
    v.z = 1;
    x[i] = v.y; // fault: uninitialised
}
kernel void whole_vector(ARGS) {
    float4 sum;
    for (uint k = 0; k < 4; k++)
        sum += float4(y[k]); // fault: uninitialised
    x[i] = sum.x;
}
kernel void column(ARGS) {
    float3x3 m;
    m[0] = float3(1);
    m[1] = float3(2);
    float3 v = m * float3(y[i]); // fault: uninitialised
    x[i] = v.x;
}
kernel void matrix_accumulator(ARGS) {
    simdgroup_float8x8 a, b, c;
    simdgroup_load(a, y, 8);
    simdgroup_load(b, y, 8);
    simdgroup_multiply_accumulate(c, a, b, c); // fault: uninitialised
    simdgroup_store(c, x, 8);
}
kernel void matrix_stored(ARGS) {
    simdgroup_float8x8 c;
    simdgroup_store(c, x, 8); // fault: uninitialised
}
float sign_of(float v) {
    if (v > 0) return 1;
    if (v < 0) return -1;
}
kernel void no_return(ARGS) {
    float s = sign_of(i == 5 ? 0 : y[i]);
    x[i] = s * 2; // fault: uninitialised
}
void best_of(device const float *y, uint n, thread float &best) {
    for (uint k = 0; k < n; k++)
        best = max(best, y[k]); // fault: uninitialised in by_reference
}
kernel void by_reference(ARGS) {
    float best;
    best_of(y, 8, best);
    x[i] = best;
}
void maybe(float v, thread float &out) {
    if (v > 0) out = v;
}
kernel void out_parameter(ARGS) {
    float v;
    maybe(y[i], v);
    x[i] = v + 1; // fault: uninitialised
}
kernel void each_iteration_anew(ARGS) {
    float total = 0;
    for (uint k = 0; k < 4; k++) {
        float part;
        if (k == 0) part = 1;
        total += part; // fault: uninitialised
    }
    x[i] = total;
}
kernel void array_by_constants(ARGS) {
    float a[4];
    a[0] = 1; a[1] = 2; a[2] = 3;
    x[i] = a[0] + a[1] + a[2] + a[3]; // fault: uninitialised
}
kernel void array_by_index(ARGS) {
    float a[8];
    for (uint k = 0; k < 7; k++) a[k] = y[k];
    x[i] = a[i & 7]; // fault: uninitialised
}
kernel void array_of_accumulators(ARGS) {
    float a[4];
    for (uint k = 0; k < 16; k++)
        a[k & 3] += y[k]; // fault: uninitialised
    x[i] = a[0] + a[1] + a[2] + a[3];
}
kernel void array_of_vectors(ARGS) {
    float4 a[4];
    for (uint k = 0; k < 4; k++) a[k].xyz = float3(y[k]);
    x[i] = a[i & 3].w; // fault: uninitialised
}
kernel void reduced(ARGS) {
    float v;
    if (i < 10) v = y[i];
    float s = simd_sum(v); // fault: uninitialised
    x[i] = s;
}
kernel void chosen(ARGS) {
    float a = 1, b;
    float v = y[i] > 0 ? a : b;
    x[i] = v * 3; // fault: uninitialised
}
kernel void bits(ARGS) {
    uint mask;
    for (uint k = 0; k < 3; k++)
        mask |= 1u << k; // fault: uninitialised
    x[i] = mask;
}
kernel void compared(ARGS) {
    float peak;
    for (uint k = 0; k < 8; k++)
        if (y[k] > peak) // fault: uninitialised
            peak = y[k];
    x[i] = peak;
}
kernel void two_steps_before(ARGS) {
    float v;
    float w = v;
    float u = w;
    x[i] = u - 1; // fault: uninitialised
}
kernel void pointer_to_a_variable_that_ended(ARGS) {
    thread float *p = nullptr;
    {
        float v = y[i];
        p = &v;
    }
    x[i] = *p; // fault: uninitialised
}
kernel void pointer_to_the_variable_of_an_iteration(ARGS) {
    float first = 0;
    thread float *p = &first;
    for (uint k = 0; k < 2; k++) {
        float v = y[k];
        if (k == 0) p = &v;
    }
    x[i] = *p * 2; // fault: uninitialised
}
thread float *largest(float a, float b) {
    float c = max(a, b);
    thread float *p = &c;
    return p;
}
kernel void pointer_to_the_variable_of_a_helper(ARGS) {
    x[i] = *largest(y[i], y[0]); // fault: uninitialised
}
