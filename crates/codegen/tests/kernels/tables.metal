// Constant tables: of numbers in memory, and of addresses of threadgroup memory and of other tables.
#include <metal_stdlib>
using namespace metal;

constant float weights[19] = {0.5f, 1.25f, -3.0f, 4.5f, 0.0f, 7.0f, 8.5f, -9.0f, 10.0f, 11.0f,
                              12.0f, -1.5f, 2.5f, 3.5f, 6.0f, 5.0f, 1.0f, 2.0f, -7.0f};
constant uchar codes[8] = {3, 1, 4, 1, 5, 9, 2, 6};

kernel void number_tables(device float* y [[buffer(0)]], device const uint* at [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) {
    const uint k = at[i];
    y[i] = weights[k % 19] * float(codes[(k + i) & 7]) + weights[i % 19];
}

kernel void address_table(device float* y [[buffer(0)]], constant uint& n [[buffer(1)]],
                          uint i [[thread_position_in_threadgroup]]) {
    threadgroup float a[256], b[256], c[256];
    threadgroup float* turns[3] = {a, b + 16, c};
    a[i & 255] = y[i];
    b[i & 255] = y[i + 64];
    c[i & 255] = y[i + 128];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint k = 0; k < n; ++k) {
        sum += turns[k % 3][(i + k) & 31];
    }
    y[i] = sum;
}

struct Part {
    constant float* values;
    uint count;
};
constant Part parts[3] = {{weights, 19}, {weights + 7, 12}, {weights + 3, 1}};

kernel void tables_of_tables(device float* y [[buffer(0)]], device const uint* at [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    constant Part& part = parts[at[i] % 3];
    y[i] = part.values[i % part.count];
}
