// Argument buffers: encoders of functions and of descriptors, members with and without indices, textures and samplers by their ids.
#import <Metal/Metal.h>

static NSString *source = @"#include <metal_stdlib>\n"
                          "using namespace metal;\n"
                          "struct Args { device float *out [[id(3)]]; constant float *in [[id(0)]]; float scale [[id(1)]];\n"
                          "  array<device float *, 2> more [[id(7)]]; };\n"
                          "kernel void add(constant Args &a [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n"
                          "  a.out[i] = a.in[i] * a.scale + a.more[0][i] + a.more[1][i];\n"
                          "}\n"
                          "struct Images { texture2d<float> from; texture2d<float, access::write> to; sampler smooth; };\n"
                          "kernel void half_way(constant Images &images [[buffer(0)]], uint2 p [[thread_position_in_grid]]) {\n"
                          "  images.to.write(images.from.sample(images.smooth, (float2(p) + 1.0f) / 4.0f), p);\n"
                          "}\n";

static id<MTLDevice> device;
static id<MTLLibrary> library;
static id<MTLCommandQueue> queue;

static void run(NSString *name, id<MTLBuffer> arguments, NSUInteger index, MTLSize threads) {
  id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:[library newFunctionWithName:name] error:nil];
  id<MTLCommandBuffer> commands = [queue commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:pipeline];
  [encoder setBuffer:arguments offset:0 atIndex:index];
  [encoder dispatchThreads:threads threadsPerThreadgroup:threads];
  [encoder endEncoding];
  [commands commit];
  [commands waitUntilCompleted];
}

static id<MTLBuffer> floats(float first) {
  float values[] = {first, first + 1, first + 2, first + 3};
  return [device newBufferWithBytes:values length:sizeof values options:0];
}

static void pointers(void) {
  id<MTLBuffer> out = floats(0), in = floats(1), one = floats(10), two = floats(100);
  id<MTLArgumentEncoder> encoder = [[library newFunctionWithName:@"add"] newArgumentEncoderWithBufferIndex:1];
  id<MTLBuffer> arguments = [device newBufferWithLength:encoder.encodedLength options:0];
  [encoder setArgumentBuffer:arguments offset:0];
  [encoder setBuffer:out offset:0 atIndex:3];
  [encoder setBuffer:in offset:0 atIndex:0];
  *(float *)[encoder constantDataAtIndex:1] = 0.5f;
  id<MTLBuffer> both[] = {one, two};
  NSUInteger offsets[] = {0, 0};
  [encoder setBuffers:both offsets:offsets withRange:NSMakeRange(7, 2)];
  run(@"add", arguments, 1, MTLSizeMake(4, 1, 1));
  const float *got = out.contents;
  printf("%d bytes aligned to %d: %g %g %g %g\n", (int)encoder.encodedLength, (int)encoder.alignment, got[0], got[1], got[2], got[3]);
}

static MTLArgumentDescriptor *described(NSUInteger index, MTLDataType type) {
  MTLArgumentDescriptor *descriptor = [MTLArgumentDescriptor argumentDescriptor];
  descriptor.index = index;
  descriptor.dataType = type;
  return descriptor;
}

static void images(int by_descriptors) {
  MTLTextureDescriptor *descriptor = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR32Float width:4 height:4 mipmapped:NO];
  descriptor.usage = MTLTextureUsageShaderRead | MTLTextureUsageShaderWrite;
  id<MTLTexture> from = [device newTextureWithDescriptor:descriptor], to = [device newTextureWithDescriptor:descriptor];
  float texels[16];
  for (int i = 0; i < 16; i++) texels[i] = i;
  MTLRegion all = {{0, 0, 0}, {4, 4, 1}};
  [from replaceRegion:all mipmapLevel:0 withBytes:texels bytesPerRow:16];
  MTLSamplerDescriptor *wanted = [MTLSamplerDescriptor new];
  wanted.minFilter = wanted.magFilter = MTLSamplerMinMagFilterLinear;
  wanted.supportArgumentBuffers = YES;
  id<MTLSamplerState> smooth = [device newSamplerStateWithDescriptor:wanted];
  id<MTLBuffer> arguments = [device newBufferWithLength:64 options:0];
  if (by_descriptors) {
    id<MTLArgumentEncoder> encoder = [device newArgumentEncoderWithArguments:@[
      described(0, MTLDataTypeTexture), described(1, MTLDataTypeTexture), described(2, MTLDataTypeSampler)
    ]];
    [encoder setArgumentBuffer:arguments offset:0];
    [encoder setTexture:from atIndex:0];
    [encoder setTexture:to atIndex:1];
    [encoder setSamplerState:smooth atIndex:2];
  } else {
    uint64_t ids[] = {from.gpuResourceID._impl, to.gpuResourceID._impl, smooth.gpuResourceID._impl};
    memcpy(arguments.contents, ids, sizeof ids);
  }
  run(@"half_way", arguments, 0, MTLSizeMake(4, 4, 1));
  [to getBytes:texels bytesPerRow:16 fromRegion:all mipmapLevel:0];
  printf("%g %g %g %g\n", texels[0], texels[3], texels[12], texels[15]);
}

int main(void) {
  @autoreleasepool {
    device = MTLCreateSystemDefaultDevice();
    NSError *error;
    library = [device newLibraryWithSource:source options:nil error:&error];
    if (!library) return puts(error.localizedDescription.UTF8String), 1;
    queue = [device newCommandQueue];
    pointers();
    images(0);
    images(1);
  }
  return 0;
}
