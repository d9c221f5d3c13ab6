// One head of attention over 32 queries and 32 keys by one simdgroup: two products and, between them, a softmax of rows that
// never leaves the registers.
// assay: launch --grid 32 --threadgroup 32 --buffer 0=random:f16:32x64:1 --buffer 1=random:f16:32x64:2 --buffer 2=random:f16:32x64:3 --buffer 3=zeros:f32:32x64
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

kernel void attention(device half *q [[buffer(0)]], device half *k [[buffer(1)]], device half *v [[buffer(2)]], device float *out [[buffer(3)]]) {
    typedef dextents<int, 2> plane;
    auto queries = tensor(q, plane(64, 32));
    auto keys = tensor(k, plane(64, 32));
    auto values = tensor(v, plane(64, 32));
    matmul2d<matmul2d_descriptor(32, 32, 64, false, true), execution_simdgroup> scores_of;
    auto scores = scores_of.get_destination_cooperative_tensor<decltype(queries), decltype(keys), float>();
    auto rows = scores_of.get_row_reduction_destination_cooperative_tensor<decltype(queries), decltype(keys), float>();
    scores_of.run(queries, keys, scores);
    reduce_rows(scores, rows, reduction_operation::max, reduction_operation_identity<float>::max_identity);
    for (auto it = scores.begin(); it != scores.end(); it++) *it = exp((*it - *rows.map_iterator(it)) * 0.125f);
    reduce_rows(scores, rows);
    for (auto it = scores.begin(); it != scores.end(); it++) *it /= *rows.map_iterator(it);
    matmul2d<matmul2d_descriptor(32, 64, 32), execution_simdgroup> output_of;
    auto weights = output_of.get_left_input_cooperative_tensor<float, half, float>(scores);
    auto result = tensor(out, plane(64, 32));
    output_of.run(weights, values, result);
}
