// Accesses outside buffers, arrays and constant tables.
// assay: launch --grid 64 --threadgroup 64 --buffer 0=random:f32:64 --buffer 1=random:f32:64 --buffer 2=iota:u32:64
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], device const uint *z [[buffer(2)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]

struct Row { float a[4]; float b[4]; };
struct Particle { float3 position; float mass; };
constant float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};

kernel void read_one_past(ARGS) {
    x[i] = y[i + 1]; // fault: out-of-bounds
}
kernel void write_one_past(ARGS) {
    x[i + 1] = 1; // fault: out-of-bounds
}
kernel void read_before_start(ARGS) {
    x[i] = y[int(i) - 1]; // fault: out-of-bounds
}
kernel void unsigned_underflow(ARGS) {
    uint left = i - 1;
    x[i] = y[left]; // fault: out-of-bounds
}
kernel void loop_with_less_or_equal(ARGS) {
    float sum = 0;
    for (uint k = 0; k <= 64; k++)
        sum += y[k]; // fault: out-of-bounds
    x[i] = sum;
}
kernel void vector_past_end(ARGS) {
    device const float4 *v = (device const float4 *)y;
    x[i] = v[i].x; // fault: out-of-bounds
}
kernel void wrong_stride(ARGS) {
    x[i] = y[i * 2]; // fault: out-of-bounds
}
kernel void struct_past_end(ARGS) {
    device const Particle *p = (device const Particle *)y;
    x[i] = p[i & 15].mass; // fault: out-of-bounds
}
float fetch(device const float *p, uint at) {
    return p[at * 64]; // fault: out-of-bounds in helper_reads_past
}
kernel void helper_reads_past(ARGS) {
    x[i] = fetch(y, i);
}
void put(device float *p, uint at, float v) {
    p[at] = v; // fault: out-of-bounds in helper_writes_past
}
void put_twice(device float *p, uint at, float v) {
    put(p, at + 32, v);
}
kernel void helper_writes_past(ARGS) {
    put_twice(x, i, 1);
}
template <typename T> T gather(device const T *p, device const uint *at, uint i) {
    return p[at[i] + 16]; // fault: out-of-bounds in template_reads_past
}
kernel void template_reads_past(ARGS) {
    x[i] = gather<float>(y, z, i);
}
kernel void constant_table(ARGS) {
    x[i] = weights[i]; // fault: out-of-bounds
}
kernel void atomic_past_end(ARGS) {
    device atomic_uint *a = (device atomic_uint *)x;
    atomic_fetch_add_explicit(&a[i + 32], 1, memory_order_relaxed); // fault: out-of-bounds
}
kernel void matrix_past_end(ARGS) {
    simdgroup_float8x8 m;
    simdgroup_load(m, y + 8, 8); // fault: out-of-bounds
    simdgroup_store(m, x, 8);
}
kernel void thread_read_one_past(ARGS) {
    float a[4], b[4];
    for (int k = 0; k < 4; k++) { a[k] = k; b[k] = -k; }
    x[i] = a[(i & 3) + 1] + b[i & 3]; // fault: out-of-bounds
}
kernel void thread_write_one_past(ARGS) {
    float a[8];
    float b[8];
    for (int k = 0; k < 8; k++) b[k] = 0;
    for (uint k = 0; k <= 8; k++)
        a[(k + i) % 9] = k; // fault: out-of-bounds
    x[i] = a[i & 7] + b[i & 7];
}
kernel void thread_before_start(ARGS) {
    int a[4] = {1, 2, 3, 4};
    int b[4] = {5, 6, 7, 8};
    x[i] = b[int(i & 3) - 1] + a[i & 3]; // fault: out-of-bounds
}
kernel void thread_far_past(ARGS) {
    float a[4] = {1, 2, 3, 4};
    float b[16];
    for (int k = 0; k < 16; k++) b[k] = k;
    x[i] = a[i] + b[i & 15]; // fault: out-of-bounds
}
void fill(thread float *p, uint n) {
    for (uint k = 0; k < n; k++)
        p[k] = 1; // fault: out-of-bounds in thread_helper_writes_past
}
kernel void thread_helper_writes_past(ARGS) {
    float a[4];
    float b[4] = {0, 0, 0, 0};
    fill(a, z[i & 3] + 5);
    x[i] = a[i & 3] + b[i & 3];
}
kernel void thread_rows(ARGS) {
    float a[2][4];
    for (int k = 0; k < 8; k++) a[k / 4][k % 4] = k;
    float s = 0;
    for (uint k = 0; k < 3; k++)
        s += a[k][i & 3]; // fault: out-of-bounds
    x[i] = s;
}
kernel void thread_struct_past(ARGS) {
    Row r;
    for (int k = 0; k < 4; k++) { r.a[k] = k; r.b[k] = k; }
    x[i] = r.b[4 + (i & 3)]; // fault: out-of-bounds
}
kernel void thread_pointer_walk(ARGS) {
    float a[4] = {1, 2, 3, 4};
    float b[4] = {1, 2, 3, 4};
    thread float *p = a;
    float s = b[i & 3];
    for (uint k = 0; k < 5 + (i & 1); k++)
        s += *p++; // fault: out-of-bounds
    x[i] = s;
}
kernel void null_pointer(ARGS) {
    device float *p = i > 100 ? x : nullptr;
    p[i] = 1; // fault: out-of-bounds
}
