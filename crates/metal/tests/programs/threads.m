// 32 threads encode at once: each on a queue that all share and on one of its own, with its own pipeline of the same source, buffers,
// blits, handlers and an event between the queues. Prints what scripts/metal.sh expects.
#import <Metal/Metal.h>
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 32, ROUNDS = 40, NUMBERS = 64 };

static const char *source =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "kernel void add(device atomic_uint *sum [[buffer(0)]], device uint *own [[buffer(1)]], constant uint &more [[buffer(2)]],\n"
    "                uint i [[thread_position_in_grid]]) {\n"
    "  own[i] += more;\n"
    "  if (i == 0) atomic_fetch_add_explicit(sum, more, memory_order_relaxed);\n}\n";

static id<MTLDevice> device;
static id<MTLCommandQueue> shared;
static id<MTLBuffer> sum;
static atomic_int handled, right;

static void encode(id<MTLCommandBuffer> commands, id<MTLComputePipelineState> pipeline, id<MTLBuffer> own, uint32_t more) {
  id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:pipeline];
  [encoder setBuffer:sum offset:0 atIndex:0];
  [encoder setBuffer:own offset:0 atIndex:1];
  [encoder setBytes:&more length:4 atIndex:2];
  [encoder dispatchThreads:MTLSizeMake(NUMBERS, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
  [encoder endEncoding];
  [commands addCompletedHandler:^(id<MTLCommandBuffer> ended) {
    handled++;
  }];
}

static void *work(void *argument) {
  @autoreleasepool {
    uint32_t number = (uint32_t)(uintptr_t)argument;
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"add"] error:&error];
    id<MTLCommandQueue> own_queue = [device newCommandQueue];
    id<MTLBuffer> own = [device newBufferWithLength:NUMBERS * 4 options:MTLResourceStorageModeShared];
    id<MTLBuffer> copy = [device newBufferWithLength:NUMBERS * 4 options:MTLResourceStorageModePrivate];
    id<MTLBuffer> back = [device newBufferWithLength:NUMBERS * 4 options:MTLResourceStorageModeShared];
    id<MTLSharedEvent> event = [device newSharedEvent];
    for (uint32_t round = 1; round <= ROUNDS; round++) @autoreleasepool {
        id<MTLCommandBuffer> first = [shared commandBuffer], second = [own_queue commandBuffer];
        encode(first, pipeline, own, number);
        [first encodeSignalEvent:event value:round];
        [second encodeWaitForEvent:event value:round];
        encode(second, pipeline, own, 1);
        id<MTLBlitCommandEncoder> blit = [second blitCommandEncoder];
        [blit copyFromBuffer:own sourceOffset:0 toBuffer:copy destinationOffset:0 size:NUMBERS * 4];
        [blit copyFromBuffer:copy sourceOffset:0 toBuffer:back destinationOffset:0 size:NUMBERS * 4];
        [blit endEncoding];
        [second commit];
        [first commit];
        [second waitUntilCompleted];
        const uint32_t *x = back.contents;
        int all = 1;
        for (int i = 0; i < NUMBERS; i++) all &= x[i] == round * (number + 1);
        right += all;
      }
  }
  return NULL;
}

int main(void) {
  @autoreleasepool {
    device = MTLCreateSystemDefaultDevice();
    shared = [device newCommandQueue];
    sum = [device newBufferWithLength:4 options:MTLResourceStorageModeShared];
    pthread_t threads[THREADS];
    for (uintptr_t n = 0; n < THREADS; n++) pthread_create(&threads[n], NULL, work, (void *)(n + 1));
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
    id<MTLCommandBuffer> last = [shared commandBuffer];
    [last commit];
    [last waitUntilCompleted];
    uint32_t expected = ROUNDS * (THREADS * (THREADS + 1) / 2 + THREADS);
    printf("rounds %d of %d right, handlers %d, sum %s\n", right, THREADS * ROUNDS, handled, *(uint32_t *)sum.contents == expected ? "right" : "wrong");
  }
}
