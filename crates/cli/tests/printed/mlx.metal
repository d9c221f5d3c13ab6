// Kernels under names that examples have.
#include <metal_stdlib>
using namespace metal;

constant bool forward [[function_constant(1)]];
constant bool traditional [[function_constant(2)]];

kernel void rope_single_float32(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                                uint i [[thread_position_in_grid]]) {
    uint pair = traditional ? i ^ 1 : i + 32;
    float angle = forward ? float(i) : -float(i);
    out[i] = in[i] * cos(angle) - in[pair] * sin(angle);
}

kernel void vs_Addfloat32(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                          device float *c [[buffer(2)]], constant uint &size [[buffer(3)]],
                          uint i [[thread_position_in_grid]]) {
    if (i < size) {
        c[i] = a[i] + b[0];
    }
}

kernel void gemv_float32_bm1_bn8_sm1_sn32_tm4_tn4_nc0_axpby0(device const float *mat [[buffer(0)]],
                                                             device const float *vec [[buffer(1)]],
                                                             device float *out [[buffer(2)]],
                                                             constant int &columns [[buffer(3)]],
                                                             uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (int k = 0; k < columns; ++k) {
        sum += mat[i * columns + k] * vec[k];
    }
    out[i] = sum;
}
