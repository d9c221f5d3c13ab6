// Logs of kernels: levels, formats, handlers, a buffer that is too small, and kernels that are compiled without logging.
#import <Metal/Metal.h>

static NSString *source = @"#include <metal_stdlib>\n"
                          "#include <metal_logging>\n"
                          "using namespace metal;\n"
                          "constant os_log custom(\"com.example\", \"kernels\");\n"
                          "kernel void k(device const float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
                          "  if (i == 2) custom.log_error(\"x[%u] is %.2f, %s, %v2f, %d%%\", i, x[i], \"text\", float2(x[0], x[1]), -5);\n"
                          "  if (i == 0) os_log_default.log(\"first %hd %lx\", short(-3), 0x123456789ful);\n"
                          "  os_log_default.log_debug(\"thread %u\", i);\n"
                          "}\n";

static id<MTLDevice> device;

static void run(BOOL logging, MTLLogLevel level, NSInteger bytes) {
  MTLCompileOptions *options = [MTLCompileOptions new];
  options.enableLogging = logging;
  NSError *error;
  id<MTLLibrary> library = [device newLibraryWithSource:source options:options error:&error];
  if (!library) {
    puts(error.localizedDescription.UTF8String);
    return;
  }
  id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"k"] error:nil];
  MTLLogStateDescriptor *wanted = [MTLLogStateDescriptor new];
  wanted.level = level;
  wanted.bufferSize = bytes;
  id<MTLLogState> state = [device newLogStateWithDescriptor:wanted error:nil];
  int __block messages = 0;
  [state addLogHandler:^(NSString *subsystem, NSString *category, MTLLogLevel at, NSString *message) {
    if (messages++ < 3 && bytes == 0) printf("[%s:%s] %d: %s\n", subsystem.UTF8String, category.UTF8String, (int)at, message.UTF8String);
  }];
  MTLCommandQueueDescriptor *described = [MTLCommandQueueDescriptor new];
  described.logState = state;
  id<MTLCommandQueue> queue = [device newCommandQueueWithDescriptor:described];
  float values[] = {1, 2, 3, 4};
  id<MTLBuffer> x = [device newBufferWithBytes:values length:sizeof values options:0];
  id<MTLCommandBuffer> commands = [queue commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:pipeline];
  [encoder setBuffer:x offset:0 atIndex:0];
  MTLSize threads = MTLSizeMake(bytes ? 64 : 4, 1, 1);
  [encoder dispatchThreads:threads threadsPerThreadgroup:threads];
  [encoder endEncoding];
  [commands commit];
  [commands waitUntilCompleted];
  printf("%s\n", bytes ? (messages < 66 ? "some are left out" : "all fit") : messages == 6 ? "six" : messages == 2 ? "two" : messages ? "others" : "none");
}

int main(void) {
  @autoreleasepool {
    device = MTLCreateSystemDefaultDevice();
    run(YES, MTLLogLevelInfo, 0);
    run(YES, MTLLogLevelError, 0);
    run(NO, MTLLogLevelDebug, 0);
    run(YES, MTLLogLevelDebug, 1024);
  }
  return 0;
}
