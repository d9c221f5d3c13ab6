// Dispatches over a limit: the command buffer fails, nothing of it runs from there on, and events are signalled all the same.
#import <Metal/Metal.h>

int main(void) {
  @autoreleasepool {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    id<MTLLibrary> library = [device newLibraryWithSource:@"kernel void add(device int *x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
                                                  options:nil
                                                    error:nil];
    MTLComputePipelineDescriptor *descriptor = [MTLComputePipelineDescriptor new];
    descriptor.computeFunction = [library newFunctionWithName:@"add"];
    descriptor.maxTotalThreadsPerThreadgroup = 64;
    id<MTLComputePipelineState> add = [device newComputePipelineStateWithDescriptor:descriptor options:0 reflection:nil error:nil];
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLBuffer> x = [device newBufferWithLength:4 * 128 options:0];
    id<MTLSharedEvent> event = [device newSharedEvent];
    int *values = x.contents;
    NSUInteger memory[] = {0, 0, 33 << 10}, threads[] = {64, 128, 64};
    for (int round = 0; round < 3; round++) {
      id<MTLCommandBuffer> commands = [queue commandBuffer];
      id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
      [encoder setComputePipelineState:add];
      [encoder setBuffer:x offset:0 atIndex:0];
      [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
      if (memory[round]) [encoder setThreadgroupMemoryLength:memory[round] atIndex:0];
      [encoder dispatchThreads:MTLSizeMake(128, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads[round], 1, 1)];
      [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
      [encoder endEncoding];
      [commands encodeSignalEvent:event value:(uint64_t)round + 1];
      [commands commit];
      [commands waitUntilCompleted];
      printf("%s: %d %d, event %d\n", commands.status == MTLCommandBufferStatusError ? "failed" : "completed", values[0], values[127], (int)event.signaledValue);
      if (commands.error) puts(commands.error.localizedDescription.UTF8String);
    }
  }
  return 0;
}
