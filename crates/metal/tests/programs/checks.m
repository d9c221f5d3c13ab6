// Planted faults of kernels in a checked run: each is reported at its line, with what was bound, and does not happen. What is reported
// about each name is checks.reports. Run with ASSAY_METAL_CHECK=1.
#import <Metal/Metal.h>

static const char *source =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void fill(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
    "  x[i] = 1;\n"
    "}\n"
    "kernel void below(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
    "  x[int(i) - 1] = 1;\n"
    "}\n"
    "kernel void inline_bytes(device float *x [[buffer(0)]], constant float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n"
    "  x[i] = y[i];\n"
    "}\n"
    // As flash attention kernels clear their results: all 32 lanes store in strides that are meant for eight of them.
    "kernel void clear(device float4 *x [[buffer(0)]], threadgroup float4 *t [[threadgroup(0)]], uint i [[thread_index_in_threadgroup]]) {\n"
    "  for (uint n = 0; n < 3; n++)\n"
    "    t[i + n * 8] = 0;\n"
    "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "  x[i] = t[i] + 1;\n"
    "}\n"
    "kernel void unordered(device float *x [[buffer(0)]], threadgroup float *t [[threadgroup(0)]], uint i [[thread_index_in_threadgroup]]) {\n"
    "  t[i] = x[i];\n"
    "  x[i] = t[63 - i];\n"
    "}\n";

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;
static id<MTLLibrary> library;
static id<MTLBuffer> x;

static void run(const char *name, const char *kernel, NSUInteger offset, NSUInteger memory, NSUInteger threads) {
  fprintf(stderr, "# %s\n", name);
  @autoreleasepool {
    NSError *error = nil;
    id<MTLFunction> function = [library newFunctionWithName:[NSString stringWithUTF8String:kernel]];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    float y[4] = {1, 2, 3, 4};
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:x offset:offset atIndex:0];
    [encoder setBytes:y length:16 atIndex:1];
    if (memory) [encoder setThreadgroupMemoryLength:memory atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(threads, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
  }
}

int main(void) {
  @autoreleasepool {
    device = MTLCreateSystemDefaultDevice();
    queue = [device newCommandQueue];
    NSError *error = nil;
    library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
    if (!library) {
      fprintf(stderr, "%s\n", error.localizedDescription.UTF8String);
      return 2;
    }
    x = [device newBufferWithLength:1024 options:0];
    x.label = @"x";
    run("right", "fill", 768, 0, 64);
    run("behind what the offset leaves", "fill", 772, 0, 64);
    run("below the buffer", "below", 0, 0, 64);
    run("behind the bytes of the encoder", "inline_bytes", 0, 0, 5);
    run("behind threadgroup memory", "clear", 0, 512, 32);
    run("without a barrier", "unordered", 0, 256, 64);
  }
  return 0;
}
