// Objective-C as clang compiles it with ARC, and a kernel through Metal: prints what scripts/metal.sh expects.
#import <Metal/Metal.h>

static int events;

@interface Counter : NSObject
@property(copy) NSString *name;
@property NSUInteger value;
- (MTLSize)sizeOf:(NSUInteger)width;
@end
@implementation Counter
+ (void)load {
  events += 1;
}
+ (void)initialize {
  events += 10;
}
- (MTLSize)sizeOf:(NSUInteger)width {
  return MTLSizeMake(width, self.value, 3);
}
- (void)dealloc {
  events += 100;
}
@end

@interface NSString (Twice)
- (NSString *)twice;
@end
@implementation NSString (Twice)
- (NSString *)twice {
  return [self stringByAppendingString:self];
}
@end

static void language(void) {
  Counter *counter = [Counter new];
  counter.name = [NSString stringWithFormat:@"%@-%d-%5.2f-%s-%c-%lu", @"grüße", 7, 1.5, "c", 'x', 123456789012ul];
  counter.value = 5;
  MTLSize size = [counter sizeOf:9];
  printf("%s %lu %lu %lu %s\n", counter.name.UTF8String, size.width, size.height, size.depth, [@"ab" twice].UTF8String);
  for (NSString *key in @{@"a" : @1, @"b" : @2}) printf("key %s\n", key.UTF8String);
  __block int sum = 0;
  dispatch_apply(100, dispatch_get_global_queue(0, 0), ^(size_t i) {
    __sync_fetch_and_add(&sum, (int)i);
  });
  printf("sum %d\n", sum);
  Counter *nothing = nil;
  printf("nil %lu %lu\n", nothing.value, [nothing sizeOf:1].width);
  __weak Counter *weak = counter;
  counter = nil;
  printf("weak %s events %d\n", weak ? "alive" : "gone", events);
}

static const char *source =
    "#include <metal_stdlib>\n"
    "using namespace metal; constant int more [[function_constant(0)]];"
    "kernel void scale(device float *x, constant float &y, uint i [[thread_position_in_grid]]) { x[i] = x[i] * y + more; }";

static int kernel(void) {
  id<MTLDevice> device = MTLCreateSystemDefaultDevice();
  NSError *error = nil;
  id<MTLLibrary> library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
  MTLFunctionConstantValues *values = [MTLFunctionConstantValues new];
  int seven = 7;
  [values setConstantValue:&seven type:MTLDataTypeInt atIndex:0];
  // The library has no such constant: Metal ignores it.
  [values setConstantValue:&seven type:MTLDataTypeInt atIndex:5];
  id<MTLFunction> function = [library newFunctionWithName:@"scale" constantValues:values error:&error];
  id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
  if (!pipeline) {
    printf("error %s\n", error.localizedDescription.UTF8String);
    return 1;
  }
  id<MTLBuffer> buffer = [device newBufferWithLength:4000 options:MTLResourceStorageModeShared];
  float *x = buffer.contents;
  for (int i = 0; i < 1000; i++) x[i] = i;
  id<MTLCommandQueue> queue = [device newCommandQueue];
  dispatch_semaphore_t done = dispatch_semaphore_create(0);
  const int dispatches = 2000;
  uint64_t start = mach_absolute_time();
  for (int n = 0; n < dispatches; n++) @autoreleasepool {
      id<MTLCommandBuffer> commands = [queue commandBuffer];
      id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
      float factor = n ? 1 : 2;
      [encoder setComputePipelineState:pipeline];
      [encoder setBuffer:buffer offset:0 atIndex:0];
      [encoder setBytes:&factor length:4 atIndex:1];
      [encoder dispatchThreads:MTLSizeMake(n ? 1 : 1000, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
      [encoder endEncoding];
      if (n == dispatches - 1) {
        [commands addCompletedHandler:^(id<MTLCommandBuffer> ended) {
          printf("status %lu\n", ended.status);
          dispatch_semaphore_signal(done);
        }];
      }
      [commands commit];
      if (n == dispatches - 1) [commands waitUntilCompleted];
    }
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  fprintf(stderr, "%.2f us per dispatch (host time)\n", (mach_absolute_time() - start) * 1e-3 / dispatches);
  printf("x %g %g\n", x[0], x[999]);
  return 0;
}

int main(void) {
  @autoreleasepool {
    language();
    return kernel();
  }
}
