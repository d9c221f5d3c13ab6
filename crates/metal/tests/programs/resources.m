// Memory that kernels reach in other ways than by bindings of buffers: addresses in memory, textures and samplers, commands that are encoded
// once and executed often. Prints what scripts/metal.sh expects.
#import <Metal/Metal.h>

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;
static id<MTLLibrary> library;

static const char *source =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "struct Parts { device float *first; constant float *second; texture2d<float> picture; uint count; };\n"
    "kernel void follow(device const Parts &parts [[buffer(0)]], device float *sum [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n"
    "  float all = 0;\n"
    "  for (uint n = 0; n < parts.count; n++) all += parts.first[n] * parts.second[n];\n"
    "  sum[i] = all + parts.picture.read(uint2(1, 2)).x;\n  parts.first[i] = -1;\n}\n"
    "struct Link { device Link *next; float value; };\n"
    "kernel void chase(device const Link *link [[buffer(0)]], device float *sum [[buffer(1)]]) {\n"
    "  float all = 0;\n  for (; link; link = link->next) all += link->value;\n  *sum = all;\n}\n"
    "kernel void outside(device const Parts &parts [[buffer(0)]]) { parts.first[parts.count] = 7; }\n"
    "kernel void invert(texture2d<float, access::sample> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]],\n"
    "                   sampler how [[sampler(0)]], uint2 at [[thread_position_in_grid]]) {\n"
    "  float2 place = (float2(at) + 0.5f) / float2(to.get_width(), to.get_height());\n"
    "  to.write(1 - from.sample(how, place), at);\n}\n"
    "kernel void add(device float *x [[buffer(0)]], constant float &more [[buffer(1)]], uint i [[thread_position_in_grid]]) { x[i] += more; }\n";

static id<MTLComputePipelineState> pipeline(NSString *name) {
  MTLComputePipelineDescriptor *descriptor = [MTLComputePipelineDescriptor new];
  descriptor.computeFunction = [library newFunctionWithName:name];
  descriptor.supportIndirectCommandBuffers = YES;
  NSError *error = nil;
  id<MTLComputePipelineState> made = [device newComputePipelineStateWithDescriptor:descriptor options:0 reflection:nil error:&error];
  if (!made) printf("%s: %s\n", name.UTF8String, error.localizedDescription.UTF8String);
  return made;
}

static id<MTLBuffer> floats(const float *values, NSUInteger count) {
  return [device newBufferWithBytes:values length:count * 4 options:MTLResourceStorageModeShared];
}

static void run(NSString *name, NSArray<id<MTLBuffer>> *buffers, MTLSize threads) {
  id<MTLCommandBuffer> commands = [queue commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:pipeline(name)];
  for (NSUInteger n = 0; n < buffers.count; n++) [encoder setBuffer:buffers[n] offset:0 atIndex:n];
  [encoder dispatchThreads:threads threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  [encoder endEncoding];
  [commands commit];
  [commands waitUntilCompleted];
}

static id<MTLTexture> texture(NSUInteger width, NSUInteger height) {
  MTLTextureDescriptor *descriptor = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR32Float width:width height:height mipmapped:NO];
  descriptor.usage = MTLTextureUsageShaderRead | MTLTextureUsageShaderWrite;
  return [device newTextureWithDescriptor:descriptor];
}

static void addresses(void) {
  float first[] = {1, 2, 3, 4}, second[] = {10, 20, 30, 40}, texels[12] = {[9] = 0.5f};
  id<MTLBuffer> a = floats(first, 4), b = floats(second, 4), sum = floats(first, 4);
  id<MTLTexture> picture = texture(4, 3);
  [picture replaceRegion:MTLRegionMake2D(0, 0, 4, 3) mipmapLevel:0 withBytes:texels bytesPerRow:16];
  struct {
    uint64_t first, second, picture;
    uint32_t count;
  } parts = {a.gpuAddress + 4, b.gpuAddress, picture.gpuResourceID._impl, 3};
  id<MTLBuffer> holder = [device newBufferWithBytes:&parts length:sizeof parts options:0];
  run(@"follow", @[ holder, sum ], MTLSizeMake(1, 1, 1));
  printf("follow %g, then %g %g\n", *(float *)sum.contents, ((float *)a.contents)[0], ((float *)a.contents)[1]);

  struct {
    uint64_t next;
    float value;
    int nothing;
  } links[3] = {{0, 1}, {0, 10}, {0, 100}};
  id<MTLBuffer> list = [device newBufferWithBytes:links length:sizeof links options:0];
  uint64_t *next = list.contents;
  next[0] = list.gpuAddress + 32, next[4] = list.gpuAddress + 16;
  run(@"chase", @[ list, sum ], MTLSizeMake(1, 1, 1));
  printf("chase %g\n", *(float *)sum.contents);

  // Behind the pages of the allocation, which is as far as an address leads.
  parts.count = 1 << 20;
  run(@"outside", @[ [device newBufferWithBytes:&parts length:sizeof parts options:0] ], MTLSizeMake(1, 1, 1));
}

static void textures(void) {
  id<MTLTexture> from = texture(2, 2), to = texture(4, 4);
  float texels[] = {0, 1, 0.25f, 0.5f}, result[16];
  id<MTLBuffer> upload = floats(texels, 4), download = [device newBufferWithLength:64 options:0];
  MTLSamplerDescriptor *descriptor = [MTLSamplerDescriptor new];
  descriptor.magFilter = MTLSamplerMinMagFilterLinear;
  id<MTLCommandBuffer> commands = [queue commandBuffer];
  id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
  [blit copyFromBuffer:upload sourceOffset:0 sourceBytesPerRow:8 sourceBytesPerImage:0 sourceSize:MTLSizeMake(2, 2, 1)
             toTexture:from destinationSlice:0 destinationLevel:0 destinationOrigin:MTLOriginMake(0, 0, 0)];
  [blit endEncoding];
  id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:pipeline(@"invert")];
  [encoder setTexture:from atIndex:0];
  [encoder setTexture:to atIndex:1];
  [encoder setSamplerState:[device newSamplerStateWithDescriptor:descriptor] atIndex:0];
  [encoder dispatchThreads:MTLSizeMake(4, 4, 1) threadsPerThreadgroup:MTLSizeMake(4, 4, 1)];
  [encoder endEncoding];
  blit = [commands blitCommandEncoder];
  [blit copyFromTexture:to sourceSlice:0 sourceLevel:0 sourceOrigin:MTLOriginMake(0, 0, 0) sourceSize:MTLSizeMake(4, 4, 1)
               toBuffer:download destinationOffset:0 destinationBytesPerRow:16 destinationBytesPerImage:0];
  [blit endEncoding];
  [commands commit];
  [commands waitUntilCompleted];
  [to getBytes:result bytesPerRow:16 fromRegion:MTLRegionMake2D(0, 0, 4, 4) mipmapLevel:0];
  printf("texture %lux%lu %g %g %g %g, copied %s\n", to.width, to.height, result[0], result[1], result[3], result[15],
         memcmp(result, download.contents, 64) ? "wrong" : "right");
}

static void commands_often(void) {
  float zeros[4] = {0}, steps[] = {1, 10};
  id<MTLBuffer> x = floats(zeros, 4), more = [device newBufferWithLength:512 options:0];
  *(float *)more.contents = steps[0], *(float *)(more.contents + 256) = steps[1];
  MTLIndirectCommandBufferDescriptor *descriptor = [MTLIndirectCommandBufferDescriptor new];
  descriptor.commandTypes = MTLIndirectCommandTypeConcurrentDispatch;
  descriptor.inheritBuffers = NO;
  descriptor.inheritPipelineState = NO;
  id<MTLIndirectCommandBuffer> often = [device newIndirectCommandBufferWithDescriptor:descriptor maxCommandCount:2 options:0];
  id<MTLComputePipelineState> add = pipeline(@"add");
  for (int n = 0; n < 2; n++) {
    id<MTLIndirectComputeCommand> command = [often indirectComputeCommandAtIndex:n];
    [command setComputePipelineState:add];
    [command setKernelBuffer:x offset:0 atIndex:0];
    [command setKernelBuffer:more offset:n * 256 atIndex:1];
    [command concurrentDispatchThreadgroups:MTLSizeMake(n + 1, 1, 1) threadsPerThreadgroup:MTLSizeMake(2, 1, 1)];
    [command setBarrier];
  }
  for (int n = 0; n < 3; n++) {
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder executeCommandsInBuffer:often withRange:NSMakeRange(0, n == 2 ? 1 : 2)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
  }
  float *all = x.contents;
  printf("often %lu: %g %g %g %g\n", often.size, all[0], all[1], all[2], all[3]);
}

static void archives(void) {
  MTLComputePipelineDescriptor *descriptor = [MTLComputePipelineDescriptor new];
  descriptor.computeFunction = [library newFunctionWithName:@"add"];
  NSURL *url = [NSURL fileURLWithPath:[NSString stringWithFormat:@"/tmp/assay-archive-%d", getpid()]];
  NSError *error = nil;
  id<MTLBinaryArchive> archive = [device newBinaryArchiveWithDescriptor:[MTLBinaryArchiveDescriptor new] error:&error];
  BOOL is_added = [archive addComputePipelineFunctionsWithDescriptor:descriptor error:&error];
  BOOL is_written = [archive serializeToURL:url error:&error];
  MTLBinaryArchiveDescriptor *known = [MTLBinaryArchiveDescriptor new];
  known.url = url;
  BOOL is_read = [device newBinaryArchiveWithDescriptor:known error:&error] != nil;
  unlink(url.path.UTF8String);
  BOOL is_missing = [device newBinaryArchiveWithDescriptor:known error:&error] == nil;
  printf("archive %d %d %d %d %s\n", is_added, is_written, is_read, is_missing, error.domain.UTF8String);
}

int main(void) {
  @autoreleasepool {
    device = MTLCreateSystemDefaultDevice();
    queue = [device newCommandQueue];
    NSError *error = nil;
    library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
    if (!library) return printf("%s\n", error.localizedDescription.UTF8String), 1;
    addresses();
    textures();
    commands_often();
    archives();
  }
  return 0;
}
