// A chain of sin, cos, exp and log over a vector after a product with a matrix, layer by layer and token by token: as four kernels
// ("eager"), or as one ("fused"). Without an argument both run and their results are compared. See docs/guide/programs.md.
#import <Metal/Metal.h>

enum { layers = 8, tokens = 4, rows = 256, columns = 256, length = 1 << 16 };

static const char *source =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "kernel void product(device const float *weights [[buffer(0)]], device const float *x [[buffer(1)]],\n"
    "                    device float *y [[buffer(2)]], constant uint &columns [[buffer(3)]],\n"
    "                    uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {\n"
    "  float sum = 0;\n"
    "  for (uint i = lane; i < columns; i += 32) sum += weights[row * columns + i] * x[i];\n"
    "  sum = simd_sum(sum);\n"
    "  if (lane == 0) y[row] = sum;\n"
    "}\n"
    "#define UNARY(name, f) kernel void name(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\\\n"
    "                                        uint i [[thread_position_in_grid]]) { y[i] = f; }\n"
    "UNARY(sine, sin(x[i]))\n"
    "UNARY(cosine, cos(x[i]))\n"
    "UNARY(exponential, exp(x[i]))\n"
    "UNARY(logarithm, log(x[i]))\n"
    "UNARY(fused_sine_cosine_exponential_logarithm, log(exp(cos(sin(x[i])))))\n";

static id<MTLDevice> device;
static id<MTLLibrary> library;

static id<MTLComputePipelineState> kernel(const char *name) {
  NSError *error = nil;
  id<MTLFunction> function = [library newFunctionWithName:[NSString stringWithUTF8String:name]];
  return [device newComputePipelineStateWithFunction:function error:&error];
}

static id<MTLBuffer> numbers(NSUInteger count) {
  id<MTLBuffer> buffer = [device newBufferWithLength:count * sizeof(float) options:MTLResourceStorageModeShared];
  float *values = buffer.contents;
  for (NSUInteger i = 0; i < count; i++) values[i] = (float)(i % 97) / 97;
  return buffer;
}

static void map(id<MTLComputeCommandEncoder> encoder, id<MTLComputePipelineState> kernel, id<MTLBuffer> x, id<MTLBuffer> y) {
  [encoder setComputePipelineState:kernel];
  [encoder setBuffer:x offset:0 atIndex:0];
  [encoder setBuffer:y offset:0 atIndex:1];
  [encoder dispatchThreads:MTLSizeMake(length, 1, 1) threadsPerThreadgroup:MTLSizeMake(256, 1, 1)];
}

static id<MTLBuffer> run(BOOL fused) {
  id<MTLComputePipelineState> product = kernel("product");
  NSArray *chain = fused ? @[ kernel("fused_sine_cosine_exponential_logarithm") ]
                         : @[ kernel("sine"), kernel("cosine"), kernel("exponential"), kernel("logarithm") ];
  id<MTLBuffer> weights = numbers(rows * columns), vector = numbers(columns), state = numbers(rows);
  id<MTLBuffer> x = numbers(length), y = numbers(length);
  id<MTLCommandQueue> queue = [device newCommandQueue];
  uint32_t width = columns;
  for (int token = 0; token < tokens; token++) {
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    commands.label = [NSString stringWithFormat:@"token %d", token];
    for (int layer = 0; layer < layers; layer++) {
      id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
      encoder.label = [NSString stringWithFormat:@"layer %d", layer];
      [encoder setComputePipelineState:product];
      [encoder setBuffer:weights offset:0 atIndex:0];
      [encoder setBuffer:vector offset:0 atIndex:1];
      [encoder setBuffer:state offset:0 atIndex:2];
      [encoder setBytes:&width length:sizeof width atIndex:3];
      [encoder dispatchThreadgroups:MTLSizeMake(rows, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
      for (id<MTLComputePipelineState> one in chain) {
        map(encoder, one, x, y);
        id<MTLBuffer> other = x;
        x = y;
        y = other;
      }
      [encoder endEncoding];
    }
    [commands commit];
    [commands waitUntilCompleted];
  }
  return x;
}

int main(int argc, char **argv) {
  @autoreleasepool {
    device = MTLCreateSystemDefaultDevice();
    NSError *error = nil;
    library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
    if (!library) {
      fprintf(stderr, "%s\n", error.localizedDescription.UTF8String);
      return 1;
    }
    if (argc > 1) {
      run(strcmp(argv[1], "fused") == 0);
      return 0;
    }
    const float *one = run(NO).contents, *other = run(YES).contents;
    int different = 0;
    for (int i = 0; i < length; i++) different += one[i] != other[i];
    printf("eager and fused differ in %d of %d numbers\n", different, length);
  }
  return 0;
}
