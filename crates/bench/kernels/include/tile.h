#pragma once
// One 64 × 64 tile of a matrix product by four simdgroups of 8 × 8 matrices, for any sizes.
//
// Where the factors come from and what becomes of the product are given as functions, so that convolutions, transposed
// factors and fused operations are the same code: a(row, k) and b(k, col) give elements inside the bounds, store(row,
// col, value) takes elements inside the bounds. Beyond them the tile is filled with zeros. All products are accumulated
// in single precision.

constant constexpr uint TILE = 64;
constant constexpr uint DEPTH = 16;
constant constexpr uint TILE_THREADS = 128;
// Threads that store along the depth write a column of the right factor at once: rows a multiple of 32 words long would
// put it into one bank. With four more, eight rows of eight words still fill all banks evenly.
constant constexpr uint APART = 4;
// Floats of threadgroup memory that a tile needs.
constant constexpr uint TILE_MEMORY = 2 * TILE * DEPTH + APART * DEPTH;

#define TILE_PARAMETERS                           \
    uint3 group [[threadgroup_position_in_grid]], \
    uint index [[thread_index_in_threadgroup]],   \
    uint lane [[thread_index_in_simdgroup]],      \
    uint simdgroup [[simdgroup_index_in_threadgroup]]

// The types of the same, for instantiations.
#define TILE_TYPES uint3, uint, uint, uint

template <typename A, typename B, typename Store>
inline void multiply_tile(uint rows, uint cols, uint depth, uint2 tile, uint index, uint lane, uint simdgroup,
                          threadgroup float *memory, A a, B b, Store store) {
    threadgroup float *left = memory;                  // TILE × DEPTH
    threadgroup float *right = memory + TILE * DEPTH;  // DEPTH × TILE
    constexpr uint across = B::along_depth ? TILE + APART : TILE;  // from row to row of the right factor
    uint row0 = tile.y * TILE, col0 = tile.x * TILE;
    uint top = simdgroup / 2 * 32, side = simdgroup % 2 * 32;
    simdgroup_matrix<float, 8, 8> sum[4][4];
    for (uint i = 0; i < 4; ++i) {
        for (uint j = 0; j < 4; ++j) sum[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
    for (uint k0 = 0; k0 < depth; k0 += DEPTH) {
        for (uint e = index; e < TILE * DEPTH; e += TILE_THREADS) {
            uint r = e / DEPTH, k = e % DEPTH;
            bool inside = row0 + r < rows && k0 + k < depth;
            left[e] = inside ? a(row0 + r, k0 + k) : 0.0f;
        }
        for (uint e = index; e < DEPTH * TILE; e += TILE_THREADS) {
            // Neighbouring threads read neighbouring elements, whichever way b lies in memory.
            uint k = B::along_depth ? e % DEPTH : e / TILE;
            uint c = B::along_depth ? e / DEPTH : e % TILE;
            bool inside = k0 + k < depth && col0 + c < cols;
            right[k * across + c] = inside ? b(k0 + k, col0 + c) : 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < DEPTH; k += 8) {
            simdgroup_matrix<float, 8, 8> x[4], y[4];
            for (uint i = 0; i < 4; ++i) {
                simdgroup_load(x[i], left + (top + 8 * i) * DEPTH + k, DEPTH);
                simdgroup_load(y[i], right + k * across + side + 8 * i, across);
            }
            for (uint i = 0; i < 4; ++i) {
                for (uint j = 0; j < 4; ++j) simdgroup_multiply_accumulate(sum[i][j], x[i], y[j], sum[i][j]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    // Results pass through threadgroup memory, 8 × 8 at a time, to be stored with their bounds.
    threadgroup float *block = memory + simdgroup * 64;
    for (uint i = 0; i < 4; ++i) {
        for (uint j = 0; j < 4; ++j) {
            simdgroup_store(sum[i][j], block, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (uint e = lane; e < 64; e += 32) {
                uint r = row0 + top + 8 * i + e / 8, c = col0 + side + 8 * j + e % 8;
                if (r < rows && c < cols) store(r, c, block[e]);
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
}

// A matrix with rows of `width` elements, as either factor.
template <typename T>
struct Matrix {
    static constant constexpr bool along_depth = false;
    device const T *data;
    uint width;
    float operator()(uint row, uint col) const { return float(data[row * width + col]); }
};

// The same, transposed.
template <typename T>
struct Transposed {
    static constant constexpr bool along_depth = true;
    device const T *data;
    uint width;
    float operator()(uint row, uint col) const { return float(data[col * width + row]); }
};

// Stores op(value), or op(value, col) where the column matters.
template <typename T, typename Op>
struct StoreMatrix {
    device T *data;
    uint width;
    Op op;
    void operator()(uint row, uint col, float value) const { data[row * width + col] = T(op(value, col)); }
};

struct Same {
    float operator()(float value, uint) const { return value; }
};
