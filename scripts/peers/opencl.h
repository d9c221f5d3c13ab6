// What both programs beside this file need of OpenCL: a CPU device, buffers, and the time of a run.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void check(cl_int status, const char *what) {
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: OpenCL error %d\n", what, status);
        exit(4);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static cl_kernel kernel(const char *name) {
    cl_int status;
    cl_kernel made = clCreateKernel(program, name, &status);
    check(status, name);
    return made;
}

// Opens the first CPU device and compiles a program for it.
static void open_device(const char *source) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    check(clGetPlatformIDs(1, &platform, NULL), "platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL), "CPU device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "context");
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "queue");
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "program");
    check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL), "compile");
}

static cl_mem filled_buffer(size_t bytes, const void *host) {
    cl_int status;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, (void *)host, &status);
    check(status, "buffer");
    return made;
}

// Seconds of one run.
static double timed(cl_kernel kernel, const char *name, cl_uint axes, const size_t *grid, const size_t *group) {
    double start = now();
    check(clEnqueueNDRangeKernel(queue, kernel, axes, NULL, grid, group, 0, NULL, NULL), name);
    check(clFinish(queue), name);
    return now() - start;
}
