#pragma once
// Layers of neural networks as kernels. A model is a list of passes over them, in its kernel.toml.

#include "activation.h"
#include "attention.h"
#include "team.h"
#include "tile.h"

// ---- dense layers: products of matrices, row by row

#define DENSE_PARAMETERS                     \
    device const float *x [[buffer(0)]],     \
    device const float *w [[buffer(1)]],     \
    device float *y [[buffer(2)]],           \
    constant uint &rows [[buffer(3)]],       \
    constant uint &cols [[buffer(4)]],       \
    constant uint &depth [[buffer(5)]]

struct Gelu {
    float operator()(float value, uint) const { return gelu(value); }
};

struct AddResidual {
    device const float *residual;
    device float *y;
    uint width;
    void operator()(uint row, uint col, float value) const {
        y[row * width + col] = residual[row * width + col] + value;
    }
};

// y = x w
kernel void dense_f32(DENSE_PARAMETERS, TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    multiply_tile(rows, cols, depth, group.xy, index, lane, simdgroup, memory,
                  Matrix<float>{x, depth}, Matrix<float>{w, cols}, StoreMatrix<float, Same>{y, cols, Same()});
}

// y = gelu(x w)
kernel void dense_gelu_f32(DENSE_PARAMETERS, TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    multiply_tile(rows, cols, depth, group.xy, index, lane, simdgroup, memory,
                  Matrix<float>{x, depth}, Matrix<float>{w, cols}, StoreMatrix<float, Gelu>{y, cols, Gelu()});
}

// y = residual + x w
kernel void dense_residual_f32(DENSE_PARAMETERS, device const float *residual [[buffer(6)]], TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    multiply_tile(rows, cols, depth, group.xy, index, lane, simdgroup, memory,
                  Matrix<float>{x, depth}, Matrix<float>{w, cols}, AddResidual{residual, y, cols});
}

// The same as dense, for few rows: a thread per element, neighbours on neighbouring columns.
kernel void dense_few_f32(DENSE_PARAMETERS, uint2 at [[thread_position_in_grid]]) {
    if (at.x >= cols || at.y >= rows) return;
    float sum = 0.0f;
    for (uint k = 0; k < depth; ++k) sum += x[at.y * depth + k] * w[k * cols + at.x];
    y[at.y * cols + at.x] = sum;
}

kernel void dense_few_relu_f32(DENSE_PARAMETERS, uint2 at [[thread_position_in_grid]]) {
    if (at.x >= cols || at.y >= rows) return;
    float sum = 0.0f;
    for (uint k = 0; k < depth; ++k) sum += x[at.y * depth + k] * w[k * cols + at.x];
    y[at.y * cols + at.x] = relu(sum);
}

// y = silu(gate) up, where the columns of x are gate and up side by side
kernel void gate_f32(device const float *x [[buffer(0)]],
                     device float *y [[buffer(1)]],
                     constant uint &rows [[buffer(2)]],
                     constant uint &cols [[buffer(3)]],
                     uint2 at [[thread_position_in_grid]]) {
    if (at.x >= cols || at.y >= rows) return;
    device const float *row = x + at.y * 2 * cols;
    y[at.y * cols + at.x] = silu(row[at.x]) * row[cols + at.x];
}

// ---- norms of rows

kernel void layer_norm_rows_f32(device const float *x [[buffer(0)]],
                                device float *y [[buffer(1)]],
                                constant uint &cols [[buffer(2)]],
                                constant float &eps [[buffer(3)]],
                                TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    y += group.y * cols;
    float mean = team.sum_of(x, cols, Identity()) / float(cols);
    float variance = team.sum_of(x, cols, SquareOfDifference{mean}) / float(cols);
    team.each(x, y, cols, ShiftAndScale{mean, rsqrt(variance + eps)});
}

kernel void rms_norm_rows_f32(device const float *x [[buffer(0)]],
                              device float *y [[buffer(1)]],
                              constant uint &cols [[buffer(2)]],
                              constant float &eps [[buffer(3)]],
                              TEAM_PARAMETERS) {
    threadgroup float shared[32];
    Team team = TEAM(shared);
    x += group.y * cols;
    y += group.y * cols;
    float square = team.sum_of(x, cols, Square()) / float(cols);
    team.each(x, y, cols, ShiftAndScale{0.0f, rsqrt(square + eps)});
}

// ---- attention

// Rotary positions of the first heads of every row, in place. Heads are `size` wide, rows `stride` apart.
kernel void rotate_heads_f32(device float *x [[buffer(0)]],
                             constant uint &rows [[buffer(1)]],
                             constant uint &heads [[buffer(2)]],
                             constant uint &size [[buffer(3)]],
                             constant uint &stride [[buffer(4)]],
                             constant float &base [[buffer(5)]],
                             uint2 at [[thread_position_in_grid]]) {
    uint pairs = size / 2;
    if (at.x >= heads * pairs || at.y >= rows) return;
    uint pair = at.x % pairs;
    device float *place = x + at.y * stride + at.x / pairs * size + 2 * pair;
    float2 turned = rotate(float2(place[0], place[1]), rotary_angle(at.y, pair, size, base));
    place[0] = turned.x;
    place[1] = turned.y;
}

// Attention of all heads: a threadgroup per head and query. Queries, keys and values start at columns of their own in
// rows `q_stride` and `kv_stride` apart; `sharing` heads of queries share one of keys and values.
kernel void attention_heads_f32(device const float *q [[buffer(0)]],
                                device const float *k [[buffer(1)]],
                                device const float *v [[buffer(2)]],
                                device float *y [[buffer(3)]],
                                constant uint &rows [[buffer(4)]],
                                constant uint &size [[buffer(5)]],
                                constant uint &heads [[buffer(6)]],
                                constant uint &sharing [[buffer(7)]],
                                constant uint &q_stride [[buffer(8)]],
                                constant uint &kv_stride [[buffer(9)]],
                                constant uint &k_column [[buffer(10)]],
                                constant uint &v_column [[buffer(11)]],
                                ATTENTION_PARAMETERS) {
    threadgroup float memory[ATTENTION_MEMORY];
    uint head = group.x, row = group.y, shared = head / sharing;
    attend(q + row * q_stride + head * size, k + k_column + shared * size, v + v_column + shared * size,
           y + (row * heads + head) * size, rows, size, kv_stride, kv_stride, rsqrt(float(size)),
           lane, simdgroup, memory);
}

// ---- images, channels last

// One element of a convolution with zeros around the image. Pixels of x are `stride` elements apart.
inline float convolve_at(device const float *x, device const float *w, uint height, uint width, uint channels,
                         uint stride, uint window, uint padding, uint row, uint col, uint filter) {
    float sum = 0.0f;
    for (uint i = 0; i < window; ++i) {
        uint y = row + i - padding;  // wraps around above the image, and is then too large
        if (y >= height) continue;
        for (uint j = 0; j < window; ++j) {
            uint column = col + j - padding;
            if (column >= width) continue;
            device const float *pixel = x + (y * width + column) * stride;
            device const float *taps = w + ((filter * window + i) * window + j) * channels;
            for (uint c = 0; c < channels; ++c) sum += pixel[c] * taps[c];
        }
    }
    return sum;
}

// relu of a convolution that keeps the image's size; where `residual` is not 0, what is in the same place of `other` is
// added first. Windows are odd.
kernel void conv_relu_f32(device const float *x [[buffer(0)]],
                          device const float *w [[buffer(1)]],
                          device float *y [[buffer(2)]],
                          device const float *other [[buffer(3)]],
                          constant uint &height [[buffer(4)]],
                          constant uint &width [[buffer(5)]],
                          constant uint &channels [[buffer(6)]],
                          constant uint &x_stride [[buffer(7)]],
                          constant uint &filters [[buffer(8)]],
                          constant uint &y_stride [[buffer(9)]],
                          constant uint &y_column [[buffer(10)]],
                          constant uint &window [[buffer(11)]],
                          constant uint &residual [[buffer(12)]],
                          uint3 at [[thread_position_in_grid]]) {
    if (at.x >= filters || at.y >= height * width) return;
    x += at.z * height * width * x_stride;
    float sum = convolve_at(x, w, height, width, channels, x_stride, window, window / 2, at.y / width, at.y % width, at.x);
    uint place = (at.z * height * width + at.y) * y_stride + y_column + at.x;
    if (residual != 0) sum += other[place];
    y[place] = relu(sum);
}

// relu of the largest of each 2 × 2 window of a convolution without padding.
kernel void conv_pool_relu_f32(device const float *x [[buffer(0)]],
                               device const float *w [[buffer(1)]],
                               device float *y [[buffer(2)]],
                               constant uint &height [[buffer(3)]],
                               constant uint &width [[buffer(4)]],
                               constant uint &channels [[buffer(5)]],
                               constant uint &filters [[buffer(6)]],
                               constant uint &window [[buffer(7)]],
                               uint3 at [[thread_position_in_grid]]) {
    uint rows = (height - window + 1) / 2, cols = (width - window + 1) / 2;
    if (at.x >= filters || at.y >= rows * cols) return;
    x += at.z * height * width * channels;
    uint row = at.y / cols * 2, col = at.y % cols * 2;
    float largest = 0.0f;  // of the four and 0
    for (uint i = 0; i < 4; ++i) {
        largest = max(largest, convolve_at(x, w, height, width, channels, channels, window, 0, row + i / 2, col + i % 2, at.x));
    }
    y[(at.z * rows * cols + at.y) * filters + at.x] = largest;
}

// The mean of each channel over the image: a thread per channel.
kernel void image_mean_f32(device const float *x [[buffer(0)]],
                           device float *y [[buffer(1)]],
                           constant uint &places [[buffer(2)]],
                           constant uint &channels [[buffer(3)]],
                           uint2 at [[thread_position_in_grid]]) {
    if (at.x >= channels) return;
    x += at.y * places * channels;
    float sum = 0.0f;
    for (uint p = 0; p < places; ++p) sum += x[p * channels + at.x];
    y[at.y * channels + at.x] = sum / float(places);
}
