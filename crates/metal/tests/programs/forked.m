// A child made by fork after Metal was used: nothing of it runs there, which each call says, and nothing waits for ever. A child made
// before can use Metal as any process.
#import <Metal/Metal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *source = "#include <metal_stdlib>\nusing namespace metal; kernel void one(device float *x, uint i [[thread_position_in_grid]]) { x[i] += 1; }";

static void use(id<MTLCommandQueue> queue, id<MTLComputePipelineState> pipeline, id<MTLBuffer> buffer) {
  id<MTLCommandBuffer> commands = [queue commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:pipeline];
  [encoder setBuffer:buffer offset:0 atIndex:0];
  [encoder dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
  [encoder endEncoding];
  __block int handled = 0;
  [commands addCompletedHandler:^(id<MTLCommandBuffer> ended) {
    handled++;
  }];
  [commands commit];
  [commands waitUntilCompleted];
  printf("status %lu, handled %d, x %g, error %s\n", commands.status, handled, *(float *)buffer.contents, commands.error ? "set" : "nil");
}

static void whole(void) {
  id<MTLDevice> device = MTLCreateSystemDefaultDevice();
  NSError *error = nil;
  id<MTLLibrary> library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
  id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"one"] error:&error];
  id<MTLBuffer> buffer = [device newBufferWithLength:16 options:MTLResourceStorageModeShared];
  use([device newCommandQueue], pipeline, buffer);
}

static void child(void (^work)(void)) {
  fflush(stdout);
  pid_t other = fork();
  if (other == 0) {
    @autoreleasepool {
      work();
    }
    exit(7);
  }
  int status = 0;
  waitpid(other, &status, 0);
  printf("child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

int main(void) {
  @autoreleasepool {
    child(^{
      whole();
    });
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"one"] error:&error];
    id<MTLBuffer> buffer = [device newBufferWithLength:16 options:MTLResourceStorageModeShared];
    id<MTLCommandQueue> queue = [device newCommandQueue];
    use(queue, pipeline, buffer);
    child(^{
      printf("queue %s\n", [device newCommandQueue] ? "made" : "nil");
      use(queue, pipeline, buffer);
    });
    use(queue, pipeline, buffer);
  }
}
