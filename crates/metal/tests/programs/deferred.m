// What a program sees where kernels are put off (ASSAY_METAL_NO_EXECUTE=1) is what it sees otherwise. Prints one line for each way in which
// a program looks at results, or changes what kernels read.
#import <Metal/Metal.h>
#import <mach/mach.h>
#include <pthread.h>
#include <stdlib.h>

enum { count = 4096, bytes = count * sizeof(int) };

static const char *source =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "kernel void add(device const int *x [[buffer(0)]], device int *y [[buffer(1)]], constant int &n [[buffer(2)]],\n"
    "                uint i [[thread_position_in_grid]]) { y[i] = x[i] + n; }\n"
    "kernel void twice(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2; }\n";

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;
static id<MTLComputePipelineState> add, twice;

static id<MTLBuffer> buffer(void) { return [device newBufferWithLength:bytes options:MTLResourceStorageModeShared]; }

static void encode_add(id<MTLComputeCommandEncoder> encoder, id<MTLBuffer> x, id<MTLBuffer> y, int n) {
  [encoder setComputePipelineState:add];
  [encoder setBuffer:x offset:0 atIndex:0];
  [encoder setBuffer:y offset:0 atIndex:1];
  [encoder setBytes:&n length:sizeof n atIndex:2];
  [encoder dispatchThreads:MTLSizeMake(count, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
}

static void encode_twice(id<MTLComputeCommandEncoder> encoder, id<MTLBuffer> x) {
  [encoder setComputePipelineState:twice];
  [encoder setBuffer:x offset:0 atIndex:0];
  [encoder dispatchThreads:MTLSizeMake(count, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
}

static void run(void (^encode)(id<MTLComputeCommandEncoder>)) {
  id<MTLCommandBuffer> commands = [queue commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
  encode(encoder);
  [encoder endEncoding];
  [commands commit];
  [commands waitUntilCompleted];
}

static void copy(id<MTLBuffer> from, id<MTLBuffer> to) {
  id<MTLCommandBuffer> commands = [queue commandBuffer];
  id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
  [blit copyFromBuffer:from sourceOffset:0 toBuffer:to destinationOffset:0 size:bytes];
  [blit endEncoding];
  [commands commit];
  [commands waitUntilCompleted];
}

// The sum of all numbers, so that every one of them counts.
static long sum(const int *x) {
  long sum = 0;
  for (int i = 0; i < count; i++) sum += x[i];
  return sum;
}

static void *sum_of(void *x) { return (void *)sum(x); }

int main(void) {
  @autoreleasepool {
    device = MTLCreateSystemDefaultDevice();
    queue = [device newCommandQueue];
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
    add = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"add"] error:&error];
    twice = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"twice"] error:&error];

    // Pointers are taken before anything runs. Of these four, the last is never looked at.
    id<MTLBuffer> x = buffer(), y = buffer(), z = buffer(), unread = buffer();
    int *of_x = x.contents, *of_y = y.contents, *of_z = z.contents;
    for (int i = 0; i < count; i++) of_x[i] = i;
    run(^(id<MTLComputeCommandEncoder> encoder) {
      encode_add(encoder, x, y, 1);
      encode_add(encoder, y, unread, 5);
      encode_add(encoder, y, z, 10);
      encode_twice(encoder, z);
    });
    printf("a chain: %d %ld\n", of_z[7], sum(of_z));

    // The program changes what a kernel has yet to read.
    run(^(id<MTLComputeCommandEncoder> encoder) { encode_add(encoder, x, y, 100); });
    for (int i = 0; i < count; i++) of_x[i] = -1;
    printf("a late write: %d %ld\n", of_y[7], sum(of_y));

    // What is written over is needed by what stands between.
    run(^(id<MTLComputeCommandEncoder> encoder) {
      encode_add(encoder, y, z, 1);
      encode_twice(encoder, y);
      encode_add(encoder, y, x, 1);
    });
    printf("written over: %d %d %d\n", of_x[7], of_z[7], of_y[7]);

    // By a copy, and by a copy into memory of the program.
    run(^(id<MTLComputeCommandEncoder> encoder) { encode_twice(encoder, x); });
    copy(x, z);
    printf("a copy: %d\n", of_z[7]);
    void *own = NULL;
    if (posix_memalign(&own, 16384, bytes)) return 1;
    id<MTLBuffer> lent = [device newBufferWithBytesNoCopy:own length:bytes options:MTLResourceStorageModeShared deallocator:nil];
    run(^(id<MTLComputeCommandEncoder> encoder) { encode_twice(encoder, x); });
    copy(x, lent);
    printf("memory of the program: %d\n", ((int *)own)[7]);
    run(^(id<MTLComputeCommandEncoder> encoder) { encode_add(encoder, x, lent, 3); });
    printf("a kernel into it: %d\n", ((int *)own)[7]);

    // Pages of vm_allocate, read after their buffer is gone.
    vm_address_t pages = 0;
    if (vm_allocate(mach_task_self(), &pages, bytes, VM_FLAGS_ANYWHERE)) return 1;
    @autoreleasepool {
      id<MTLBuffer> over = [device newBufferWithBytesNoCopy:(void *)pages length:bytes options:MTLResourceStorageModeShared deallocator:nil];
      if (over.contents != (void *)pages) printf("contents are elsewhere\n");
      run(^(id<MTLComputeCommandEncoder> encoder) { encode_add(encoder, x, over, 4); });
    }
    printf("vm_allocate: %d\n", ((int *)pages)[7]);
    vm_deallocate(mach_task_self(), pages, bytes);

    // Several threads look at once.
    run(^(id<MTLComputeCommandEncoder> encoder) { encode_twice(encoder, y); });
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, sum_of, of_y);
    int same = 0;
    for (int i = 0; i < 4; i++) {
      void *found = NULL;
      pthread_join(threads[i], &found);
      same += (long)found == sum(of_y);
    }
    printf("threads: %d of 4, %ld\n", same, sum(of_y));

    // Without being looked at in between, in one buffer again and again.
    for (int step = 0; step < 100; step++) run(^(id<MTLComputeCommandEncoder> encoder) { encode_add(encoder, z, z, 1); });
    printf("a hundred steps: %d\n", of_z[7]);
    for (int step = 0; step < 100; step++) run(^(id<MTLComputeCommandEncoder> encoder) { encode_twice(encoder, unread); });
  }
  return 0;
}
