// The kernels of crates/exec/benches/streaming.rs as OpenCL, on the first CPU device: a line per kernel, the least microseconds
// of many runs on the same buffers, then `ok` if what it wrote is right. scripts/peers.sh compiles and runs it.
#include "opencl.h"

enum { RUNS = 60, COUNT = 1 << 22, SIDE = 2048, GROUPS = 256 };

static const char *SOURCE =
    "kernel void saxpy(global float *y, global const float *x, float a, uint n) {\n"
    "    uint i = get_global_id(0);\n"
    "    if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n"
    "kernel void relu(global const float *x, global float *o) {\n"
    "    uint i = get_global_id(0);\n"
    "    o[i] = fmax(x[i], 0.0f);\n"
    "}\n"
    "kernel void copy_2d(global const float *from, global float *to, uint width, uint height) {\n"
    "    uint x = get_global_id(0), y = get_global_id(1);\n"
    "    if (x >= width || y >= height) return;\n"
    "    to[y * width + x] = from[y * width + x];\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(128, 1, 1)))\n"
    "void reduce_sum(global float *o, global const float *x, uint n) {\n"
    "    local float s[128];\n"
    "    uint l = get_local_id(0), size = get_global_size(0);\n"
    "    float a = 0.0f;\n"
    "    for (uint i = get_global_id(0); i < n; i += size) a += x[i];\n"
    "    s[l] = a;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint d = 64; d; d >>= 1) {\n"
    "        if (l < d) s[l] += s[l + d];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (l == 0) o[get_group_id(0)] = s[0];\n"
    "}\n";

static float number(size_t index) { return (float)(index % 17) - 8.0f; }

static float expected(const char *name, size_t at) {
    switch (name[0]) {
    case 's': return 3.0f * number(at);
    case 'c': return number(at);
    case 'r': break;
    }
    if (name[2] == 'l') return number(at) > 0 ? number(at) : 0;
    float sum = 0;
    for (size_t lane = at * 128; lane < at * 128 + 128; lane++)
        for (size_t i = lane; i < COUNT; i += GROUPS * 128) sum += number(i);
    return sum;
}

static cl_mem buffer(size_t count, int filled) {
    float *host = calloc(count, sizeof *host);
    for (size_t i = 0; filled && i < count; i++) host[i] = number(i);
    cl_mem made = filled_buffer(count * sizeof *host, host);
    free(host);
    return made;
}

// Runs a kernel whose arguments are set, and prints its line. `result` has `count` numbers.
static void measure(cl_kernel kernel, const char *name, cl_uint axes, const size_t *grid, const size_t *group,
                    cl_mem result, size_t count) {
    double least = 1e9;
    int right = 1;
    for (int run = 0; run < RUNS; run++) {
        double seconds = timed(kernel, name, axes, grid, group);
        if (seconds < least) least = seconds;
        if (run == 0) {
            float *host = malloc(count * sizeof *host);
            check(clEnqueueReadBuffer(queue, result, CL_TRUE, 0, count * sizeof *host, host, 0, NULL, NULL), name);
            for (size_t i = 0; i < count; i++) right &= host[i] == expected(name, i);
            free(host);
        }
    }
    printf("%s\t%.0f\t%s\n", name, least * 1e6, right ? "ok" : "WRONG");
}

int main(void) {
    open_device(SOURCE);
    cl_mem x = buffer(COUNT, 1), y = buffer(COUNT, 1), o = buffer(COUNT, 0), sums = buffer(GROUPS, 0);
    const cl_float a = 2.0f;
    const cl_uint n = COUNT, side = SIDE;
    const size_t line[] = {COUNT}, square[] = {SIDE, SIDE}, threads[] = {GROUPS * 128}, group[] = {128};

    cl_kernel k = kernel("saxpy");
    clSetKernelArg(k, 0, sizeof y, &y), clSetKernelArg(k, 1, sizeof x, &x);
    clSetKernelArg(k, 2, sizeof a, &a), clSetKernelArg(k, 3, sizeof n, &n);
    measure(k, "saxpy", 1, line, NULL, y, COUNT);

    k = kernel("relu");
    clSetKernelArg(k, 0, sizeof x, &x), clSetKernelArg(k, 1, sizeof o, &o);
    measure(k, "relu", 1, line, NULL, o, COUNT);

    k = kernel("copy_2d");
    clSetKernelArg(k, 0, sizeof x, &x), clSetKernelArg(k, 1, sizeof o, &o);
    clSetKernelArg(k, 2, sizeof side, &side), clSetKernelArg(k, 3, sizeof side, &side);
    measure(k, "copy_2d", 2, square, NULL, o, COUNT);

    k = kernel("reduce_sum");
    clSetKernelArg(k, 0, sizeof sums, &sums), clSetKernelArg(k, 1, sizeof x, &x), clSetKernelArg(k, 2, sizeof n, &n);
    measure(k, "reduce_sum", 1, threads, group, sums, GROUPS);
    return 0;
}
