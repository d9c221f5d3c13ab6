#import <Metal/Metal.h>

int main(void) {
  @autoreleasepool {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    NSError *error = nil;
    NSString *source = [NSString stringWithContentsOfFile:@"scale.metal" encoding:NSUTF8StringEncoding error:&error];
    id<MTLLibrary> library = [device newLibraryWithSource:source options:nil error:&error];
    if (!library) {
      fprintf(stderr, "%s\n", error.localizedDescription.UTF8String);
      return 1;
    }
    id<MTLFunction> function = [library newFunctionWithName:@"scale"];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    float numbers[4] = {1, 2, 3, 4}, by = 10;
    id<MTLBuffer> x = [device newBufferWithBytes:numbers length:sizeof numbers options:MTLResourceStorageModeShared];
    id<MTLCommandBuffer> commands = [[device newCommandQueue] commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:x offset:0 atIndex:0];
    [encoder setBytes:&by length:sizeof by atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    const float *result = x.contents;
    printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);
  }
  return 0;
}
