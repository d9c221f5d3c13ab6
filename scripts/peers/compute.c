// The kernels of crates/exec/benches/native.rs as OpenCL 1.2 (where Metal reduces over a simdgroup, a tree in local memory), on the
// first CPU device: a line per kernel, the least microseconds of many runs, then `ok` if what it wrote is right. scripts/peers.sh
// compiles and runs it.
#include "opencl.h"
#include <math.h>
#include <string.h>

enum { RUNS = 20, N = 512, ROWS = 1024, WIDTH = 1024, BLOCKS = 32, KEYS = 256 };

static const char *SOURCE =
    "#define TREE(red, l, from, op) barrier(CLK_LOCAL_MEM_FENCE);\\\n"
    "    for (uint stride = from; stride > 0; stride >>= 1) {\\\n"
    "        if (l < stride) red[l] = op(red[l], red[l + stride]);\\\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\\\n"
    "    }\n"
    "#define ADD(a, b) ((a) + (b))\n"
    "kernel __attribute__((reqd_work_group_size(16, 16, 1)))\n"
    "void matmul_tiled(global float *C, global const float *A, global const float *B, uint M, uint N, uint K) {\n"
    "    local float sa[16][16], sb[16][17];\n"
    "    uint x = get_local_id(0), y = get_local_id(1);\n"
    "    uint row = get_group_id(1) * 16 + y, col = get_group_id(0) * 16 + x;\n"
    "    float acc = 0.0f;\n"
    "    for (uint t = 0; t < K; t += 16) {\n"
    "        sa[y][x] = A[row * K + t + x];\n"
    "        sb[y][x] = B[(t + y) * N + col];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (uint k = 0; k < 16; ++k) acc = fma(sa[y][k], sb[k][x], acc);\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    C[row * N + col] = acc;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(256, 1, 1)))\n"
    "void softmax(global float *o, global const float *x, uint n) {\n"
    "    local float red[256];\n"
    "    uint l = get_local_id(0), r = get_group_id(0);\n"
    "    float m = -INFINITY, sum = 0.0f;\n"
    "    for (uint i = l; i < n; i += 256) m = fmax(m, x[r * n + i]);\n"
    "    red[l] = m;\n"
    "    TREE(red, l, 128, fmax)\n"
    "    m = red[0];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint i = l; i < n; i += 256) {\n"
    "        float e = native_exp(x[r * n + i] - m);\n"
    "        o[r * n + i] = e;\n"
    "        sum += e;\n"
    "    }\n"
    "    red[l] = sum;\n"
    "    TREE(red, l, 128, ADD)\n"
    "    float inv = 1.0f / red[0];\n"
    "    for (uint i = l; i < n; i += 256) o[r * n + i] *= inv;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(256, 1, 1)))\n"
    "void layernorm(global float *o, global const float *x, global const float *g, global const float *b, uint n, float eps) {\n"
    "    local float2 red[256];\n"
    "    uint l = get_local_id(0), r = get_group_id(0);\n"
    "    float s = 0.0f, s2 = 0.0f;\n"
    "    for (uint i = l; i < n; i += 256) {\n"
    "        float v = x[r * n + i];\n"
    "        s += v;\n"
    "        s2 = fma(v, v, s2);\n"
    "    }\n"
    "    red[l] = (float2)(s, s2);\n"
    "    TREE(red, l, 128, ADD)\n"
    "    float mean = red[0].x / n, inv = native_rsqrt(red[0].y / n - mean * mean + eps);\n"
    "    for (uint i = l; i < n; i += 256) o[r * n + i] = (x[r * n + i] - mean) * inv * g[i] + b[i];\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(128, 1, 1)))\n"
    "void reduce_sum(global float *o, global const float *x, uint n) {\n"
    "    local float s[128];\n"
    "    uint l = get_local_id(0), size = get_global_size(0);\n"
    "    float a = 0.0f;\n"
    "    for (uint i = get_global_id(0); i < n; i += size) a += x[i];\n"
    "    s[l] = a;\n"
    "    TREE(s, l, 64, ADD)\n"
    "    if (l == 0) o[get_group_id(0)] = s[0];\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(8, 8, 1)))\n"
    "void conv2d_3x3(global float *o, global const float *x, constant float *f, int w, int h) {\n"
    "    int i = get_global_id(0), j = get_global_id(1);\n"
    "    if (i < 1 || j < 1 || i >= w - 1 || j >= h - 1) return;\n"
    "    float a = 0.0f;\n"
    "    for (int dy = -1; dy <= 1; ++dy)\n"
    "        for (int dx = -1; dx <= 1; ++dx) a = fma(x[(j + dy) * w + i + dx], f[(dy + 1) * 3 + dx + 1], a);\n"
    "    o[j * w + i] = a;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(32, 1, 1)))\n"
    "void gemv_q4(global float *y, global const uint *q, global const half *sc, global const float *x, uint nblk) {\n"
    "    local float red[32];\n"
    "    uint l = get_local_id(0), r = get_group_id(0);\n"
    "    float acc = 0.0f;\n"
    "    for (uint b = l; b < nblk; b += 32) {\n"
    "        float s = vload_half(r * nblk + b, sc), t = 0.0f;\n"
    "        for (uint w = 0; w < 4; ++w) {\n"
    "            uint v = q[(r * nblk + b) * 4 + w];\n"
    "            for (uint e = 0; e < 8; ++e) t = fma((float)((int)((v >> (4 * e)) & 15u) - 8), x[b * 32 + w * 8 + e], t);\n"
    "        }\n"
    "        acc = fma(s, t, acc);\n"
    "    }\n"
    "    red[l] = acc;\n"
    "    TREE(red, l, 16, ADD)\n"
    "    if (l == 0) y[r] = red[0];\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(32, 1, 1)))\n"
    "void attention_row(global float *o, global const float *q, global const float *k, global const float *v, uint n, float scale) {\n"
    "    local float red[32];\n"
    "    uint d = get_local_id(0), r = get_group_id(0);\n"
    "    float qd = q[r * 32 + d], m = -INFINITY, l = 0.0f, acc = 0.0f;\n"
    "    for (uint j = 0; j < n; ++j) {\n"
    "        red[d] = qd * k[j * 32 + d];\n"
    "        TREE(red, d, 16, ADD)\n"
    "        float s = red[0] * scale, next = fmax(m, s);\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        float c = native_exp2((m - next) * 1.442695f), p = native_exp2((s - next) * 1.442695f);\n"
    "        l = l * c + p;\n"
    "        acc = acc * c + p * v[j * 32 + d];\n"
    "        m = next;\n"
    "    }\n"
    "    o[r * 32 + d] = acc / l;\n"
    "}\n";

static float number(size_t index) { return (float)(index * 7919 % 1000) / 500.0f - 1.0f; }
static cl_uint word(size_t index) { return (cl_uint)index * 2654435761u; }

static float half_number(cl_ushort bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    float size = exponent ? ldexpf(1024 + mantissa, exponent - 25) : ldexpf(mantissa, -24);
    return bits >> 15 ? -size : size;
}

// Some bit patterns of small numbers: both sides time the same work whatever the scales are.
static cl_ushort half_bits(size_t index) { return (cl_ushort)(0x3000 + index * 37 % 2048); }

static cl_mem floats(size_t count) {
    float *host = malloc(count * sizeof *host);
    for (size_t i = 0; i < count; i++) host[i] = number(i);
    cl_mem made = filled_buffer(count * sizeof *host, host);
    free(host);
    return made;
}

// What one element of a kernel's result should be.
static double expected(const char *name, size_t at) {
    double sum = 0, most = -INFINITY;
    size_t row = at / WIDTH * WIDTH;
    if (!strcmp(name, "matmul_tiled")) {
        for (size_t k = 0; k < N; k++) sum += (double)number(at / N * N + k) * number(k * N + at % N);
        return sum;
    }
    if (!strcmp(name, "softmax")) {
        for (size_t i = 0; i < WIDTH; i++) sum += exp(number(row + i));
        return exp(number(at)) / sum;
    }
    if (!strcmp(name, "layernorm")) {
        double squares = 0;
        for (size_t i = 0; i < WIDTH; i++) sum += number(row + i), squares += (double)number(row + i) * number(row + i);
        double mean = sum / WIDTH, inv = 1 / sqrt(squares / WIDTH - mean * mean + 1e-5);
        return (number(at) - mean) * inv * number(at % WIDTH) + number(at % WIDTH);
    }
    if (!strcmp(name, "reduce_sum")) {
        for (size_t lane = at * 128; lane < at * 128 + 128; lane++)
            for (size_t i = lane; i < ROWS * WIDTH; i += 256 * 128) sum += number(i);
        return sum;
    }
    if (!strcmp(name, "conv2d_3x3")) {
        size_t i = at % WIDTH, j = at / WIDTH;
        if (i < 1 || j < 1 || i >= WIDTH - 1 || j >= ROWS - 1) return number(at);
        for (size_t tap = 0; tap < 9; tap++) sum += (double)number((j + tap / 3 - 1) * WIDTH + i + tap % 3 - 1) * number(tap);
        return sum;
    }
    if (!strcmp(name, "gemv_q4")) {
        for (size_t b = 0; b < BLOCKS; b++)
            for (size_t e = 0; e < 32; e++) {
                cl_uint bits = word((at * BLOCKS + b) * 4 + e / 8) >> e % 8 * 4 & 15;
                sum += (double)half_number(half_bits(at * BLOCKS + b)) * ((int)bits - 8) * number(b * 32 + e);
            }
        return sum;
    }
    double weights = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t j = 0; j < KEYS; j++) {
            double s = 0;
            for (size_t d = 0; d < 32; d++) s += (double)number(at / 32 * 32 + d) * number(j * 32 + d);
            s *= 0.25;
            if (pass == 0) most = fmax(most, s);
            else weights += exp(s - most), sum += exp(s - most) * number(j * 32 + at % 32);
        }
    return sum / weights;
}

static void measure(cl_kernel kernel, const char *name, cl_uint axes, const size_t *grid, const size_t *group, cl_mem result,
                    size_t count) {
    double least = 1e9;
    for (int run = 0; run < RUNS; run++) {
        double seconds = timed(kernel, name, axes, grid, group);
        if (seconds < least) least = seconds;
    }
    float *host = malloc(count * sizeof *host);
    check(clEnqueueReadBuffer(queue, result, CL_TRUE, 0, count * sizeof *host, host, 0, NULL, NULL), name);
    int right = 1;
    for (size_t i = 0; i < count; i += count / 97 + 1) right &= fabs(host[i] - expected(name, i)) < 2e-3;
    free(host);
    printf("%s\t%.0f\t%s\n", name, least * 1e6, right ? "ok" : "WRONG");
}

#define ARG(at, value) check(clSetKernelArg(k, at, sizeof(value), &(value)), "argument")

int main(void) {
    open_device(SOURCE);
    const cl_uint n = N, width = WIDTH, all = ROWS * WIDTH, blocks = BLOCKS, keys = KEYS;
    const cl_float eps = 1e-5f, scale = 0.25f;
    cl_mem a = floats(ROWS * WIDTH), b = floats(ROWS * WIDTH), o = floats(ROWS * WIDTH);
    cl_uint *words = malloc(ROWS * BLOCKS * 16);
    cl_ushort *halves = malloc(ROWS * BLOCKS * 2);
    for (size_t i = 0; i < ROWS * BLOCKS * 4; i++) words[i] = word(i);
    for (size_t i = 0; i < ROWS * BLOCKS; i++) halves[i] = half_bits(i);
    cl_mem q = filled_buffer(ROWS * BLOCKS * 16, words), sc = filled_buffer(ROWS * BLOCKS * 2, halves);

    cl_kernel k = kernel("matmul_tiled");
    ARG(0, o), ARG(1, a), ARG(2, b), ARG(3, n), ARG(4, n), ARG(5, n);
    measure(k, "matmul_tiled", 2, (size_t[]){N, N}, (size_t[]){16, 16}, o, N * N);

    k = kernel("softmax");
    ARG(0, o), ARG(1, a), ARG(2, width);
    measure(k, "softmax", 1, (size_t[]){ROWS * 256}, (size_t[]){256}, o, ROWS * WIDTH);

    k = kernel("layernorm");
    ARG(0, o), ARG(1, a), ARG(2, b), ARG(3, b), ARG(4, width), ARG(5, eps);
    measure(k, "layernorm", 1, (size_t[]){ROWS * 256}, (size_t[]){256}, o, ROWS * WIDTH);

    k = kernel("reduce_sum");
    ARG(0, o), ARG(1, a), ARG(2, all);
    measure(k, "reduce_sum", 1, (size_t[]){256 * 128}, (size_t[]){128}, o, 256);

    o = floats(ROWS * WIDTH);
    k = kernel("conv2d_3x3");
    ARG(0, o), ARG(1, a), ARG(2, b), ARG(3, width), ARG(4, width);
    measure(k, "conv2d_3x3", 2, (size_t[]){WIDTH, ROWS}, (size_t[]){8, 8}, o, ROWS * WIDTH);

    k = kernel("gemv_q4");
    ARG(0, o), ARG(1, q), ARG(2, sc), ARG(3, a), ARG(4, blocks);
    measure(k, "gemv_q4", 1, (size_t[]){ROWS * 32}, (size_t[]){32}, o, ROWS);

    k = kernel("attention_row");
    ARG(0, o), ARG(1, a), ARG(2, a), ARG(3, a), ARG(4, keys), ARG(5, scale);
    measure(k, "attention_row", 1, (size_t[]){256 * 32}, (size_t[]){32}, o, 256 * 32);
    return 0;
}
