// Microbenchmarks of `assay calibrate`: each kernel is limited by one thing.
//
// data   what is read, zeros; the result of every thread is stored where no other thread reads
// turns  turns of the loop
// mask   a power of two less one: words, lines or vectors of `data` that are touched
#include <metal_stdlib>
using namespace metal;

#define ARGUMENTS                                                                                  \
    device float *data [[buffer(0)]], constant uint &turns [[buffer(1)]],                          \
        constant uint &mask [[buffer(2)]], uint at [[thread_position_in_grid]],                    \
        uint lane [[thread_index_in_simdgroup]]

// Nothing but being launched.
kernel void nothing(ARGUMENTS) {
    if (turns == 0xffffffffu) {
        data[at] = float(lane + mask);
    }
}

// Each result is needed by the next operation.
kernel void chain(ARGUMENTS) {
    float x = data[lane], a = data[0], b = data[1];
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 16; ++n) {
            x = fma(x, a, b);
        }
    }
    data[at & mask] = x;
}

// Eight chains: every issue slot can be used.
kernel void issue(ARGUMENTS) {
    float x[8], a = data[0], b = data[1];
    for (uint n = 0; n < 8; ++n) {
        x[n] = data[n];
    }
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 32; ++n) {
            x[n & 7] = fma(x[n & 7], a, b);
        }
    }
    float sum = 0.0f;
    for (uint n = 0; n < 8; ++n) {
        sum += x[n];
    }
    data[at & mask] = sum;
}

kernel void reduction(ARGUMENTS) {
    float x = data[lane], y = data[lane + 32];
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 4; ++n) {
            x = simd_sum(x);
            y = simd_sum(y);
        }
    }
    data[at & mask] = x + y;
}

kernel void prefix(ARGUMENTS) {
    float x = data[lane], y = data[lane + 32];
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 4; ++n) {
            x = simd_prefix_inclusive_sum(x);
            y = simd_prefix_inclusive_sum(y);
        }
    }
    data[at & mask] = x + y;
}

kernel void shuffle(ARGUMENTS) {
    float x[4];
    for (uint n = 0; n < 4; ++n) {
        x[n] = data[lane + 32 * n];
    }
    ushort to = ushort((lane * 5 + mask) & 31);
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 16; ++n) {
            x[n & 3] = simd_shuffle(x[n & 3], to);
        }
    }
    data[at & mask] = x[0] + x[1] + x[2] + x[3];
}

kernel void matrix32(ARGUMENTS) {
    simdgroup_float8x8 a, b, c[4];
    simdgroup_load(a, data, 8);
    simdgroup_load(b, data + 64, 8);
    for (uint n = 0; n < 4; ++n) {
        simdgroup_load(c[n], data + 64 * n, 8);
    }
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 16; ++n) {
            simdgroup_multiply_accumulate(c[n & 3], a, b, c[n & 3]);
        }
    }
    for (uint n = 0; n < 4; ++n) {
        simdgroup_store(c[n], data + 1024 + ((64 * (at / 32) + n * 4096) & mask & ~63u), 8);
    }
}

kernel void matrix16(ARGUMENTS) {
    device half *halves = reinterpret_cast<device half *>(data);
    simdgroup_half8x8 a, b, c[4];
    simdgroup_load(a, halves, 8);
    simdgroup_load(b, halves + 64, 8);
    for (uint n = 0; n < 4; ++n) {
        simdgroup_load(c[n], halves + 64 * n, 8);
    }
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 16; ++n) {
            simdgroup_multiply_accumulate(c[n & 3], a, b, c[n & 3]);
        }
    }
    for (uint n = 0; n < 4; ++n) {
        simdgroup_store(c[n], halves + 1024 + ((64 * (at / 32) + n * 4096) & mask & ~63u), 8);
    }
}

// A line for a whole simdgroup, from L1.
kernel void lines(ARGUMENTS) {
    float sum = 0.0f;
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 8; ++n) {
            sum += data[(lane + 32 * (8 * k + n)) & mask];
        }
    }
    data[4096 + at] = sum;
}

// A line for every lane, from L1.
kernel void gather(ARGUMENTS) {
    float sum = 0.0f;
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 8; ++n) {
            sum += data[(32 * lane + 8 * k + n) & mask];
        }
    }
    data[4096 + at] = sum;
}

// Four lines for the lanes in turn, from L1: no two neighbours want the same one.
kernel void few_lines(ARGUMENTS) {
    float sum = 0.0f;
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 8; ++n) {
            sum += data[(32 * (lane & 3) + 8 * k + n) & mask];
        }
    }
    data[4096 + at] = sum;
}

// Rows of threadgroup memory: every bank once.
kernel void rows(ARGUMENTS) {
    threadgroup float tile[1024];
    tile[at & 1023] = data[at & mask];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0.0f;
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 8; ++n) {
            sum += tile[(lane + 32 * (8 * k + n)) & 1023];
        }
    }
    data[4096 + at] = sum;
}

// Columns of threadgroup memory: all lanes at one bank.
kernel void columns(ARGUMENTS) {
    threadgroup float tile[1024];
    tile[at & 1023] = data[at & mask];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0.0f;
    for (uint k = 0; k < turns; ++k) {
        for (uint n = 0; n < 8; ++n) {
            sum += tile[(32 * lane + 8 * k + n) & 1023];
        }
    }
    data[4096 + at] = sum;
}

// Each address comes from the load before, in threadgroup memory.
kernel void local_chase(ARGUMENTS) {
    threadgroup uint ring[1024];
    for (uint n = lane; n < 1024; n += 32) {
        ring[n] = uint(data[n & mask]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint p = lane;
    for (uint k = 0; k < turns; ++k) {
        p = (p + 97 + ring[p]) & 1023;
    }
    data[4096 + at] = float(p);
}

// Each address comes from the load before, a line further on: the whole ring, in no order that is easy to guess.
kernel void chase(ARGUMENTS) {
    device uint *ring = reinterpret_cast<device uint *>(data);
    uint p = 0;
    for (uint k = 0; k < turns; ++k) {
        p = (p + 0x9e3779b1u + ring[32 * p]) & mask;
    }
    ring[0] = p == 0xffffffffu ? 1 : 0;
}

// All of a buffer, in order.
kernel void stream(ARGUMENTS, uint threads [[threads_per_grid]]) {
    device float4 *vectors = reinterpret_cast<device float4 *>(data);
    float4 sum = 0.0f;
    for (uint k = 0; k < turns; ++k) {
        sum += vectors[(at + k * threads) & mask];
    }
    if (sum.x == 1.0f) {
        vectors[at] = sum;
    }
}

kernel void barriers(ARGUMENTS) {
    for (uint k = 0; k < turns; ++k) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    data[at & mask] = float(lane);
}

// Atomics of one lane, each waiting for the one before.
kernel void atomic_chain(ARGUMENTS) {
    device atomic_uint *cells = reinterpret_cast<device atomic_uint *>(data);
    uint x = 0;
    for (uint k = 0; k < turns; ++k) {
        x = atomic_fetch_add_explicit(&cells[x & mask], x & mask, memory_order_relaxed);
    }
    data[4096 + at] = float(x);
}

// Atomics of all lanes at one address.
kernel void atomic_crowd(ARGUMENTS) {
    device atomic_uint *cells = reinterpret_cast<device atomic_uint *>(data);
    uint x = 0;
    for (uint k = 0; k < turns; ++k) {
        x += atomic_fetch_add_explicit(&cells[mask & 1], lane, memory_order_relaxed);
    }
    data[4096 + at] = float(x);
}
