// Metal 4's command model: a compiler, argument tables, command buffers that are recorded and committed, feedback, events.
#import <Metal/Metal.h>

static NSString *source = @"#include <metal_stdlib>\n"
                          "using namespace metal;\n"
                          "constant float more [[function_constant(0)]];\n"
                          "kernel void scale(device float *x [[buffer(0)]], constant float &by [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n"
                          "  x[i] *= by;\n"
                          "}\n"
                          "kernel void add(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] += more; }\n"
                          "kernel void sampled(device float *x [[buffer(0)]], texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]],\n"
                          "                    uint i [[thread_position_in_grid]]) { x[i] = t.sample(s, float2(float(i + 1) / 4, 0.5f)).x; }\n";

static id<MTLDevice> device;
static id<MTL4Compiler> compiler;
static id<MTLLibrary> library;

static id<MTLComputePipelineState> pipeline(NSString *name, float *constant) {
  MTL4LibraryFunctionDescriptor *function = [MTL4LibraryFunctionDescriptor new];
  function.name = name;
  function.library = library;
  MTL4ComputePipelineDescriptor *descriptor = [MTL4ComputePipelineDescriptor new];
  descriptor.computeFunctionDescriptor = function;
  if (constant) {
    MTL4SpecializedFunctionDescriptor *specialized = [MTL4SpecializedFunctionDescriptor new];
    specialized.functionDescriptor = function;
    specialized.constantValues = [MTLFunctionConstantValues new];
    [specialized.constantValues setConstantValue:constant type:MTLDataTypeFloat atIndex:0];
    descriptor.computeFunctionDescriptor = specialized;
  }
  NSError *error;
  id<MTLComputePipelineState> made = [compiler newComputePipelineStateWithDescriptor:descriptor compilerTaskOptions:nil error:&error];
  if (!made) puts(error.localizedDescription.UTF8String);
  return made;
}

static void show(const char *what, id<MTLBuffer> x) {
  const float *values = x.contents;
  printf("%s: %g %g %g %g\n", what, values[0], values[1], values[2], values[3]);
}

int main(void) {
  @autoreleasepool {
    device = MTLCreateSystemDefaultDevice();
    compiler = [device newCompilerWithDescriptor:[MTL4CompilerDescriptor new] error:nil];
    MTL4LibraryDescriptor *wanted = [MTL4LibraryDescriptor new];
    wanted.source = source;
    NSError *error;
    library = [compiler newLibraryWithDescriptor:wanted error:&error];
    if (!library) return puts(error.localizedDescription.UTF8String), 1;
    float three = 3;
    id<MTLComputePipelineState> scale = pipeline(@"scale", NULL), add = pipeline(@"add", &three), sampled = pipeline(@"sampled", NULL);

    id<MTL4CommandQueue> queue = [device newMTL4CommandQueue];
    id<MTL4CommandAllocator> allocator = [device newCommandAllocator];
    id<MTL4CommandBuffer> commands = [device newCommandBuffer];
    id<MTLSharedEvent> event = [device newSharedEvent];
    MTL4ArgumentTableDescriptor *room = [MTL4ArgumentTableDescriptor new];
    room.maxBufferBindCount = 4;
    room.maxTextureBindCount = room.maxSamplerStateBindCount = 1;
    id<MTL4ArgumentTable> table = [device newArgumentTableWithDescriptor:room error:nil];
    float values[] = {1, 2, 3, 4, 5, 6, 7, 8}, by = 10;
    id<MTLBuffer> x = [device newBufferWithBytes:values length:sizeof values options:0];
    id<MTLBuffer> factor = [device newBufferWithBytes:&by length:4 options:0];
    uint32_t counts[] = {4, 1, 1};
    id<MTLBuffer> indirect = [device newBufferWithBytes:counts length:sizeof counts options:0];
    MTLSize four = MTLSizeMake(4, 1, 1), one = MTLSizeMake(1, 1, 1);

    // A command buffer is recorded twice; the table is read when a dispatch is encoded.
    for (uint64_t round = 1; round <= 2; round++) {
      [commands beginCommandBufferWithAllocator:allocator];
      id<MTL4ComputeCommandEncoder> encoder = [commands computeCommandEncoder];
      [encoder setArgumentTable:table];
      [encoder setComputePipelineState:scale];
      [table setAddress:x.gpuAddress atIndex:0];
      [table setAddress:factor.gpuAddress atIndex:1];
      [encoder dispatchThreads:four threadsPerThreadgroup:four];
      [encoder barrierAfterEncoderStages:MTLStageDispatch beforeEncoderStages:MTLStageDispatch visibilityOptions:MTL4VisibilityOptionDevice];
      [encoder setComputePipelineState:add];
      [encoder dispatchThreadgroupsWithIndirectBuffer:indirect.gpuAddress threadsPerThreadgroup:one];
      [encoder barrierAfterEncoderStages:MTLStageDispatch beforeEncoderStages:MTLStageBlit visibilityOptions:MTL4VisibilityOptionDevice];
      [encoder copyFromBuffer:x sourceOffset:0 toBuffer:x destinationOffset:16 size:8];
      [encoder fillBuffer:x range:NSMakeRange(24, 4) value:0];
      [encoder endEncoding];
      [commands endCommandBuffer];
      MTL4CommitOptions *options = [MTL4CommitOptions new];
      [options addFeedbackHandler:^(id<MTL4CommitFeedback> feedback) {
        printf("round %d: %s, %s\n", (int)round, feedback.error ? "failed" : "fine", feedback.GPUEndTime >= feedback.GPUStartTime ? "in order" : "backwards");
      }];
      [queue commit:&commands count:1 options:options];
      [queue signalEvent:event value:round];
      [event waitUntilSignaledValue:round timeoutMS:10000];
      show("x", x);
      printf("behind: %g %g %g\n", ((float *)x.contents)[4], ((float *)x.contents)[5], ((float *)x.contents)[6]);
    }

    MTLTextureDescriptor *described = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR32Float width:4 height:1 mipmapped:NO];
    id<MTLTexture> image = [device newTextureWithDescriptor:described];
    [image replaceRegion:(MTLRegion){{0, 0, 0}, {4, 1, 1}} mipmapLevel:0 withBytes:values bytesPerRow:16];
    MTLSamplerDescriptor *linear = [MTLSamplerDescriptor new];
    linear.magFilter = linear.minFilter = MTLSamplerMinMagFilterLinear;
    id<MTLSamplerState> smooth = [device newSamplerStateWithDescriptor:linear];
    [table setTexture:image.gpuResourceID atIndex:0];
    [table setSamplerState:smooth.gpuResourceID atIndex:0];
    [commands beginCommandBufferWithAllocator:allocator];
    id<MTL4ComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setArgumentTable:table];
    [encoder setComputePipelineState:sampled];
    [encoder dispatchThreads:four threadsPerThreadgroup:four];
    [encoder endEncoding];
    [commands endCommandBuffer];
    [queue commit:&commands count:1];
    [queue signalEvent:event value:3];
    [event waitUntilSignaledValue:3 timeoutMS:10000];
    show("sampled", x);
  }
  return 0;
}
