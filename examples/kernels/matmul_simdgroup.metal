// Matrix instructions: each simdgroup owns a 16 by 16 block. One source, three element types.
#include <metal_stdlib>
using namespace metal;

// C (M x N, float) = A (M x K) * B (K x N); M and N multiples of 16, K of 8.
template <typename T>
kernel void matmul_simdgroup(device float *C [[buffer(0)]],
                             device const T *A [[buffer(1)]],
                             device const T *B [[buffer(2)]],
                             constant uint &N [[buffer(3)]],
                             constant uint &K [[buffer(4)]],
                             uint2 group [[threadgroup_position_in_grid]]) {
    simdgroup_matrix<float, 8, 8> acc[2][2];
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            acc[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
    }
    device const T *rows = A + group.y * 16 * K;
    device const T *columns = B + group.x * 16;
    for (uint k = 0; k < K; k += 8) {
        simdgroup_matrix<T, 8, 8> a[2], b[2];
        for (int i = 0; i < 2; ++i) {
            simdgroup_load(a[i], rows + i * 8 * K + k, K);
            simdgroup_load(b[i], columns + k * N + i * 8, N);
        }
        for (int i = 0; i < 2; ++i) {
            for (int j = 0; j < 2; ++j) {
                simdgroup_multiply_accumulate(acc[i][j], a[i], b[j], acc[i][j]);
            }
        }
    }
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            simdgroup_store(acc[i][j], C + (group.y * 16 + i * 8) * N + group.x * 16 + j * 8, N);
        }
    }
}

template [[host_name("matmul_simdgroup_f32")]] kernel void matmul_simdgroup<float>(
    device float *, device const float *, device const float *, constant uint &, constant uint &, uint2);
template [[host_name("matmul_simdgroup_f16")]] kernel void matmul_simdgroup<half>(
    device float *, device const half *, device const half *, constant uint &, constant uint &, uint2);
template [[host_name("matmul_simdgroup_bf16")]] kernel void matmul_simdgroup<bfloat>(
    device float *, device const bfloat *, device const bfloat *, constant uint &, constant uint &, uint2);

// assay: launch matmul_simdgroup_f32 --size M=1024 --size N=1024 --size K=1024 --groups N/16,M/16 --threadgroup 32 --buffer 0=zeros:f32:M*N --buffer 1=random:f32:M*K --buffer 2=random:f32:K*N --bytes 3=u32:N --bytes 4=u32:K
// assay: launch matmul_simdgroup_f16 --size M=1024 --size N=1024 --size K=1024 --groups N/16,M/16 --threadgroup 32 --buffer 0=zeros:f32:M*N --buffer 1=random:f16:M*K --buffer 2=random:f16:K*N --bytes 3=u32:N --bytes 4=u32:K
// assay: launch matmul_simdgroup_bf16 --size M=1024 --size N=1024 --size K=1024 --groups N/16,M/16 --threadgroup 32 --buffer 0=zeros:f32:M*N --buffer 1=random:bf16:M*K --buffer 2=random:bf16:K*N --bytes 3=u32:N --bytes 4=u32:K
