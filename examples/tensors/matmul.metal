// C = max(A·B + bias, 0) of tensors that the host makes: tiles of 32 × 32 by four simdgroups, tails left to the tensors.
// assay: launch --size M=50 --size N=40 --size K=30 --grid 128*ceil_div(N,32),ceil_div(M,32) --threadgroup 128 --tensor 0=random:f16:MxK:1 --tensor 1=random:f16:KxN:2 --tensor 2=random:f32:N:3 --tensor 3=zeros:f32:MxN
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

kernel void linear_relu(tensor<device half, dextents<int, 2>> A [[buffer(0)]],
                        tensor<device half, dextents<int, 2>> B [[buffer(1)]],
                        tensor<device float, dextents<int, 1>> bias [[buffer(2)]],
                        tensor<device float, dextents<int, 2>> C [[buffer(3)]],
                        uint2 group [[threadgroup_position_in_grid]]) {
    const int row = group.y * 32, column = group.x * 32;
    auto left = A.slice(0, row);
    auto right = B.slice(column, 0);
    matmul2d<matmul2d_descriptor(32, 32, dynamic_extent), execution_simdgroups<4>> multiply;
    auto tile = multiply.get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
    multiply.run(left, right, tile);
    for (ushort i = 0; i < tile.get_capacity(); i++) {
        if (!tile.is_valid_element(i)) continue;
        const int n = column + tile.get_multidimensional_index(i)[0];
        if (n < bias.get_extent(0)) tile[i] = max(tile[i] + bias[n], 0.0f);
    }
    tile.store(C.slice(column, row));
}
