// Tensors that reach outside, operations of the wrong shape and scope, and the races of memory they share.
// assay: launch --grid 64 --threadgroup 64 --buffer 0=random:f16:32x32 --buffer 1=zeros:f32:32x32
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
#define ARGS device half *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]], uint group [[simdgroup_index_in_threadgroup]]
#define TENSORS auto a = tensor(x, dextents<int, 2>(32, 24)); auto c = tensor(y, dextents<int, 2>(32, 32)); (void)a, (void)c;
typedef matmul2d<matmul2d_descriptor(16, 16), execution_simdgroup> tile;
typedef matmul2d<matmul2d_descriptor(32, 32), execution_simdgroups<2>> pair;
typedef matmul2d<matmul2d_descriptor(32, 32), execution_simdgroups<4>> four;

kernel void element_past_the_row(ARGS) {
    TENSORS
    if (i < 32) y[i] = a[i + 1, 0]; // fault: tensor-out-of-bounds
}
kernel void element_past_the_rows(ARGS) {
    TENSORS
    if (i < 32) y[i] = a[0, int(i)]; // fault: tensor-out-of-bounds
}
kernel void slice_past_the_rows(ARGS) {
    TENSORS
    auto part = a.slice<16, 16>(0, 16); // fault: tensor-out-of-bounds
    if (i == 0) y[0] = part[0, 0];
}
kernel void slice_before_the_start(ARGS) {
    TENSORS
    auto part = a.slice(0, -1); // fault: tensor-out-of-bounds
    if (i == 0) y[0] = part[0, 1];
}
kernel void slice_of_a_slice_past_the_end(ARGS) {
    TENSORS
    auto part = a.slice(16, 0).slice<24, 8>(0, 0); // fault: tensor-out-of-bounds
    if (i == 0) y[0] = part[0, 0];
}
kernel void scope_of_four_simdgroups(ARGS) {
    TENSORS
    four op;
    auto whole = tensor(x, dextents<int, 2>(32, 32));
    op.run(whole, whole, c); // fault: tensor-scope
}
kernel void inner_extents_differ(ARGS) {
    TENSORS
    pair op;
    auto b = tensor(x, dextents<int, 2>(32, 32));
    auto narrow = tensor(x, dextents<int, 2>(24, 32));
    op.run(narrow, b, c); // fault: tensor-shapes
}
kernel void tile_past_the_buffer(ARGS) {
    TENSORS
    tile op;
    auto tall = tensor(x, dextents<int, 2>(32, 48));
    auto wide = tensor(x, dextents<int, 2>(16, 32));
    auto sums = op.get_destination_cooperative_tensor<decltype(tall), decltype(wide), float>();
    auto part = tall.slice(0, 32);
    op.run(part, wide, sums); // fault: out-of-bounds
    if (group == 0) sums.store(c);
}
kernel void both_simdgroups_store_one_tile(ARGS) {
    TENSORS
    tile op;
    auto sums = op.get_destination_cooperative_tensor<decltype(a), decltype(a), float>();
    for (ushort j = 0; j < sums.get_capacity(); j++) sums[j] = float(group);
    sums.store(c); // fault: race
}
kernel void result_read_before_a_barrier(ARGS) {
    TENSORS
    pair op;
    auto whole = tensor(x, dextents<int, 2>(32, 32));
    op.run(whole, whole, c);
    x[i] = y[(63 - i) * 16]; // fault: race
}
kernel void product_by_half_a_simdgroup(ARGS) {
    TENSORS
    tile op;
    auto whole = tensor(x, dextents<int, 2>(32, 32));
    auto sums = op.get_destination_cooperative_tensor<decltype(whole), decltype(whole), float>();
    if (i % 2 == 0) op.run(whole, whole, sums); // fault: partial-matrix
    if (i == 0) y[0] = sums[0];
}

kernel void right_product_of_two_simdgroups(ARGS) {
    TENSORS
    pair op;
    auto whole = tensor(x, dextents<int, 2>(32, 32));
    op.run(whole, whole, c);
}
