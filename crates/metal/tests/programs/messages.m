// Fuzzing of the message edge: random messages to objects of all kinds, with arguments of the declared types and any values. Each is
// something that a program may send, so what is wrong is told, and nothing crashes or waits for ever.
//
//   messages [FIRST SEED] [SEEDS] [MESSAGES]     TELL=1 names each message before it is sent
//
// Left out are calls that no program survives on a Mac either: lengths beyond the memory behind a pointer, waits for values that
// nothing signals, grids that take hours.
#import <Metal/Metal.h>
#include <dispatch/dispatch.h>

static uint64_t state;

static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1dull;
}

static NSUInteger below(NSUInteger limit) {
  return (next() >> 11) % limit;
}

#define ONE_OF(...) \
  ({ \
    const NSUInteger all[] = {__VA_ARGS__}; \
    all[below(sizeof all / sizeof *all)]; \
  })

// Numbers of any kind: small, around powers of two, at the ends of their types.
static NSUInteger number(void) {
  switch (below(4)) {
  case 0: return below(40);
  case 1: return (1ull << below(64)) - below(2);
  case 2: return ONE_OF(0, 1, 30, 31, 32, 255, 256, 1024, 4096, INT32_MAX, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX);
  default: return next();
  }
}

static NSUInteger small(void) {
  return below(3) ? below(16) : ONE_OF(0, 1, 4, 16, 31, 32, 64, 250, 256, 1000);
}

// Lengths of memory: little, or more than any device has.
static NSUInteger length(void) {
  return below(6) ? ONE_OF(0, 1, 3, 4, 16, 100, 256, 1000, 4096, 16384, 65536) : ONE_OF(1ull << 45, INT64_MAX, 1ull << 63, UINT64_MAX);
}

// Little grids: any other takes long.
static MTLSize grid(void) {
  return MTLSizeMake(ONE_OF(0, 1, 2, 3, 8, 33), below(4) ? 1 : below(4), below(4) ? 1 : below(4));
}

// Any threadgroups: those that a device does not have are refused.
static MTLSize threadgroup(void) {
  return below(4) ? MTLSizeMake(ONE_OF(1, 7, 32, 64), 1, below(8) ? 1 : 2) : MTLSizeMake(number(), below(2) ? 1 : number(), below(2) ? 1 : number());
}

static NSRange range(void) {
  return below(3) ? NSMakeRange(small(), small()) : NSMakeRange(number(), number());
}

static MTLRegion region(void) {
  MTLRegion region = {{small(), small(), 0}, {below(20), below(20), below(8) ? 1 : below(3)}};
  return region;
}

enum { KEPT = 12 };
// Objects of each kind: random places are replaced by what messages answer, so that they live for random times.
typedef struct {
  __strong id all[KEPT];
} Kind;
static Kind strings, buffers, small_counts, textures, samplers, heaps, events, fences, sets, libraries, functions, pipelines, queues, commands,
    encoders, blits, lists, list_commands, archives, constants, errors, datas, descriptors;

static id any(Kind *kind) {
  return below(16) ? kind->all[below(KEPT)] : nil;
}

static id keep(Kind *kind, id object) {
  if (object) kind->all[below(KEPT)] = object;
  return object;
}

static id<MTLDevice> device;
static _Alignas(16384) uint8_t scratch[1 << 17];

static NSUInteger scratch_length(void) {
  return ONE_OF(0, 1, 4, 16, 64, 1000, 4096, 4097, 16384, 65536);
}

static MTLTextureDescriptor *texture_descriptor(void) {
  MTLTextureDescriptor *made = nil;
  NSUInteger format = ONE_OF(0, 10, 20, 25, 53, 55, 70, 115, 125, 252, 999);
  switch (below(4)) {
  case 0: made = [MTLTextureDescriptor textureCubeDescriptorWithPixelFormat:format size:small() mipmapped:below(2)]; break;
  case 1: made = [MTLTextureDescriptor textureBufferDescriptorWithPixelFormat:format width:small() resourceOptions:0 usage:3]; break;
  default: made = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:format width:small() height:small() mipmapped:below(2)];
  }
  if (!below(3)) made.textureType = below(11);
  if (!below(4)) made.depth = small();
  if (!below(4)) made.arrayLength = small();
  if (!below(4)) made.mipmapLevelCount = below(20);
  if (!below(6)) made.sampleCount = number();
  if (!below(6)) made.width = number() | 1ull << 20;
  if (!below(3)) made.storageMode = below(5);
  made.usage = below(8);
  return made;
}

static void name(const char *message) {
  static int tells = -1;
  if (tells < 0) tells = getenv("TELL") != NULL;
  if (tells) fprintf(stderr, "%s\n", message);
}

#define MESSAGE(...) \
  case __COUNTER__ - FIRST: \
    name(#__VA_ARGS__); \
    __VA_ARGS__; \
    break;
#define BUFFER ((id<MTLBuffer>)any(&buffers))
#define TEXTURE ((id<MTLTexture>)any(&textures))
#define COMMANDS ((id<MTLCommandBuffer>)any(&commands))
#define ENCODER ((id<MTLComputeCommandEncoder>)any(&encoders))
#define BLIT ((id<MTLBlitCommandEncoder>)any(&blits))
#define TEXT ((NSString *)any(&strings))
#define RESOURCE (below(2) ? (id<MTLResource>)BUFFER : (id<MTLResource>)TEXTURE)

// Lists of four, which live until the next is asked for.
static const id<MTLResource> __unsafe_unretained *four_resources(void) {
  static __unsafe_unretained id<MTLResource> all[4];
  for (int at = 0; at < 4; at++) all[at] = RESOURCE;
  return all;
}

static const id<MTLBuffer> __unsafe_unretained *four_buffers(void) {
  static __unsafe_unretained id<MTLBuffer> all[4];
  for (int at = 0; at < 4; at++) all[at] = BUFFER;
  return all;
}

static const NSUInteger *four_offsets(void) {
  static NSUInteger all[4];
  for (int at = 0; at < 4; at++) all[at] = below(3) ? small() : number();
  return all;
}

// A function that sends one message of a list. KIND_FIRST and KIND_ALL bound the numbers of the list's cases.
#define LIST(kind) \
  enum { kind##_FIRST = __COUNTER__ + 1 }; \
  static void kind(NSUInteger which) { \
    enum { FIRST = kind##_FIRST }; \
    NSError *error = nil; \
    switch (which) {
#define END(kind) \
    } \
    keep(&errors, error); \
  } \
  enum { kind##_ALL = __COUNTER__ - kind##_FIRST };

LIST(send_any)
    MESSAGE(keep(&buffers, [device newBufferWithLength:length() options:ONE_OF(0, 1, 16, 32, 256, 257, 512, number())]))
    MESSAGE(keep(&buffers, [device newBufferWithBytes:scratch length:scratch_length() options:ONE_OF(0, 16, 32)]))
    MESSAGE(keep(&buffers, [device newBufferWithBytesNoCopy:scratch + ONE_OF(0, 1, 16384) length:ONE_OF(0, 1, 16384, 32768) options:0
                               deallocator:^(void *start, NSUInteger bytes){}]))
    MESSAGE([device heapBufferSizeAndAlignWithLength:number() options:number()])
    MESSAGE(keep(&textures, [device newTextureWithDescriptor:texture_descriptor()]))
    MESSAGE({
      MTLSamplerDescriptor *descriptor = [MTLSamplerDescriptor new];
      descriptor.minFilter = number();
      descriptor.mipFilter = below(5);
      descriptor.sAddressMode = number();
      descriptor.maxAnisotropy = number();
      descriptor.lodMinClamp = below(2) ? -1 : 0.0f / 0.0f;
      descriptor.label = TEXT;
      keep(&samplers, [device newSamplerStateWithDescriptor:descriptor]);
    })
    MESSAGE({
      MTLHeapDescriptor *descriptor = [MTLHeapDescriptor new];
      descriptor.size = length();
      descriptor.storageMode = below(5);
      descriptor.type = below(4);
      keep(&heaps, [device newHeapWithDescriptor:descriptor]);
    })
    MESSAGE({
      MTLIndirectCommandBufferDescriptor *descriptor = [MTLIndirectCommandBufferDescriptor new];
      descriptor.commandTypes = ONE_OF(0, 32, 64, 96, number());
      descriptor.inheritBuffers = below(2);
      descriptor.inheritPipelineState = below(2);
      descriptor.maxKernelBufferBindCount = small();
      keep(&lists, [device newIndirectCommandBufferWithDescriptor:descriptor maxCommandCount:small() options:ONE_OF(0, 16, 32, number())]);
    })
    MESSAGE(keep(&events, [device newSharedEvent]))
    MESSAGE(keep(&events, [device newEvent]))
    MESSAGE(keep(&fences, [device newFence]))
    MESSAGE(keep(&queues, [device newCommandQueueWithMaxCommandBufferCount:number()]))
    MESSAGE(keep(&sets, [device newResidencySetWithDescriptor:[MTLResidencySetDescriptor new] error:below(2) ? &error : nil]))
    MESSAGE(keep(&libraries, [device newLibraryWithData:(__bridge dispatch_data_t)any(&datas) error:below(2) ? &error : nil]))
    MESSAGE(keep(&libraries, [device newLibraryWithFile:TEXT error:&error]))
    MESSAGE(keep(&libraries, [device newLibraryWithURL:[NSURL fileURLWithPath:TEXT ?: @""] error:&error]))
    MESSAGE(keep(&libraries, [device newDefaultLibrary]))
    MESSAGE(keep(&libraries, [device newDefaultLibraryWithBundle:NSBundle.mainBundle error:&error]))
    MESSAGE(keep(&functions, [(id<MTLLibrary>)any(&libraries) newFunctionWithName:TEXT]))
    MESSAGE(keep(&functions, [(id<MTLLibrary>)any(&libraries) newFunctionWithName:TEXT constantValues:any(&constants) error:&error]))
    MESSAGE({
      MTLFunctionDescriptor *descriptor = [MTLFunctionDescriptor functionDescriptor];
      descriptor.name = TEXT;
      descriptor.specializedName = TEXT;
      descriptor.constantValues = any(&constants);
      keep(&functions, [(id<MTLLibrary>)any(&libraries) newFunctionWithDescriptor:descriptor error:&error]);
    })
    MESSAGE(keep(&constants, [MTLFunctionConstantValues new]))
    MESSAGE([(MTLFunctionConstantValues *)any(&constants) setConstantValue:scratch type:number() atIndex:number()])
    MESSAGE([(MTLFunctionConstantValues *)any(&constants) setConstantValue:scratch type:ONE_OF(3, 29, 33, 53) atIndex:below(3)])
    MESSAGE([(MTLFunctionConstantValues *)any(&constants) setConstantValue:scratch type:below(130) withName:TEXT])
    MESSAGE([(MTLFunctionConstantValues *)any(&constants) setConstantValues:scratch type:below(130) withRange:NSMakeRange(number(), below(20))])
    MESSAGE([(MTLFunctionConstantValues *)any(&constants) reset])
    MESSAGE(keep(&pipelines, [device newComputePipelineStateWithFunction:any(&functions) error:below(2) ? &error : nil]))
    MESSAGE({
      MTLComputePipelineDescriptor *descriptor = [MTLComputePipelineDescriptor new];
      descriptor.computeFunction = any(&functions);
      descriptor.label = TEXT;
      descriptor.maxTotalThreadsPerThreadgroup = number();
      descriptor.supportIndirectCommandBuffers = below(2);
      MTLAutoreleasedComputePipelineReflection reflection = nil;
      keep(&pipelines, [device newComputePipelineStateWithDescriptor:descriptor options:below(8) reflection:below(2) ? &reflection : nil error:&error]);
      keep(&descriptors, descriptor);
    })
    MESSAGE(keep(&archives, [device newBinaryArchiveWithDescriptor:[MTLBinaryArchiveDescriptor new] error:&error]))
    MESSAGE([(id<MTLBinaryArchive>)any(&archives) addComputePipelineFunctionsWithDescriptor:any(&descriptors) error:&error])
    MESSAGE([(id<MTLBinaryArchive>)any(&archives) serializeToURL:[NSURL fileURLWithPath:@"/nowhere/archive"] error:&error])
    MESSAGE([device supportsFamily:number()])
    MESSAGE({
      MTLTimestamp cpu, gpu;
      [device sampleTimestamps:&cpu gpuTimestamp:&gpu];
    })

    MESSAGE(keep(&buffers, [(id<MTLHeap>)any(&heaps) newBufferWithLength:length() options:ONE_OF(0, 16, 32, number())]))
    MESSAGE(keep(&buffers, [(id<MTLHeap>)any(&heaps) newBufferWithLength:length() options:0 offset:number()]))
    MESSAGE([(id<MTLHeap>)any(&heaps) maxAvailableSizeWithAlignment:number()])
    MESSAGE([(id<MTLHeap>)any(&heaps) setPurgeableState:below(6)])
    MESSAGE([RESOURCE setPurgeableState:below(6)])
    MESSAGE([RESOURCE setLabel:TEXT])
    MESSAGE([BUFFER didModifyRange:range()])
    MESSAGE(keep(&textures, [BUFFER newTextureWithDescriptor:texture_descriptor() offset:number() bytesPerRow:ONE_OF(0, 16, 64, 256, number())]))
    MESSAGE(keep(&textures, [TEXTURE newTextureViewWithPixelFormat:below(260)]))
    MESSAGE([TEXTURE replaceRegion:region() mipmapLevel:below(3) withBytes:scratch bytesPerRow:ONE_OF(0, 4, 64, 512)])
    MESSAGE([TEXTURE replaceRegion:region() mipmapLevel:number() slice:number() withBytes:scratch bytesPerRow:512 bytesPerImage:ONE_OF(0, 4096)])
    MESSAGE([TEXTURE getBytes:scratch bytesPerRow:ONE_OF(0, 4, 64, 512) fromRegion:region() mipmapLevel:below(3)])
    MESSAGE([TEXTURE getBytes:scratch bytesPerRow:512 bytesPerImage:4096 fromRegion:region() mipmapLevel:number() slice:number()])
    MESSAGE([(id<MTLResidencySet>)any(&sets) addAllocation:RESOURCE])
    MESSAGE([(id<MTLResidencySet>)any(&sets) addAllocations:four_resources() count:below(5)])
    MESSAGE([(id<MTLResidencySet>)any(&sets) removeAllocation:RESOURCE])
    MESSAGE([(id<MTLResidencySet>)any(&sets) removeAllAllocations])
    MESSAGE([(id<MTLResidencySet>)any(&sets) containsAllocation:RESOURCE])
    MESSAGE([(id<MTLResidencySet>)any(&sets) commit])
    MESSAGE([(id<MTLResidencySet>)any(&sets) requestResidency])

    MESSAGE(keep(&commands, [(id<MTLCommandQueue>)any(&queues) commandBuffer]))
    MESSAGE(keep(&commands, [(id<MTLCommandQueue>)any(&queues) commandBuffer]))
    MESSAGE(keep(&commands, [(id<MTLCommandQueue>)any(&queues) commandBufferWithUnretainedReferences]))
    MESSAGE(keep(&commands, [(id<MTLCommandQueue>)any(&queues) commandBufferWithDescriptor:below(4) ? [MTLCommandBufferDescriptor new] : nil]))
    MESSAGE([(id<MTLCommandQueue>)any(&queues) setLabel:TEXT])
    MESSAGE([(id<MTLCommandQueue>)any(&queues) addResidencySet:any(&sets)])
    MESSAGE([(id<MTLCommandQueue>)any(&queues) removeResidencySet:any(&sets)])
    MESSAGE(keep(&encoders, [COMMANDS computeCommandEncoder]))
    MESSAGE(keep(&encoders, [COMMANDS computeCommandEncoderWithDispatchType:below(2)]))
    MESSAGE(keep(&encoders, [COMMANDS computeCommandEncoderWithDispatchType:number()]))
    MESSAGE(keep(&encoders, [COMMANDS computeCommandEncoderWithDescriptor:below(4) ? [MTLComputePassDescriptor computePassDescriptor] : nil]))
    MESSAGE(keep(&blits, [COMMANDS blitCommandEncoder]))
    MESSAGE([COMMANDS commit])
    MESSAGE({
      id<MTLCommandBuffer> one = COMMANDS;
      [one commit];
      [one waitUntilCompleted];
    })
    MESSAGE({
      // What is enqueued and never committed holds its queue up, as on a Mac.
      id<MTLCommandBuffer> one = COMMANDS;
      [one enqueue];
      [one commit];
    })
    MESSAGE([COMMANDS waitUntilScheduled])
    MESSAGE([COMMANDS status])
    MESSAGE(keep(&errors, COMMANDS.error))
    MESSAGE([COMMANDS addCompletedHandler:^(id<MTLCommandBuffer> ended){}])
    MESSAGE([COMMANDS addScheduledHandler:below(8) ? ^(id<MTLCommandBuffer> ended){} : nil])
    MESSAGE([COMMANDS encodeSignalEvent:any(&events) value:number()])
    MESSAGE([COMMANDS encodeWaitForEvent:any(&events) value:0])
    MESSAGE([COMMANDS useResidencySet:any(&sets)])
    MESSAGE([COMMANDS pushDebugGroup:TEXT])
    MESSAGE([COMMANDS popDebugGroup])
    MESSAGE([COMMANDS setLabel:TEXT])

    MESSAGE([ENCODER endEncoding])

    MESSAGE([BLIT endEncoding])

    MESSAGE({
      id event = any(&events);
      if ([event respondsToSelector:@selector(setSignaledValue:)]) [(id<MTLSharedEvent>)event setSignaledValue:number()];
    })
    MESSAGE({
      id event = any(&events);
      if ([event respondsToSelector:@selector(waitUntilSignaledValue:timeoutMS:)])
        [(id<MTLSharedEvent>)event waitUntilSignaledValue:number() timeoutMS:below(2)];
    })
    MESSAGE({
      id event = any(&events);
      if ([event respondsToSelector:@selector(notifyListener:atValue:block:)])
        [(id<MTLSharedEvent>)event notifyListener:[MTLSharedEventListener sharedListener] atValue:number()
                                            block:^(id<MTLSharedEvent> which, uint64_t value){}];
    })
    MESSAGE(keep(&strings, [TEXT stringByAppendingString:@"x"]))
    MESSAGE(keep(&strings, [(NSError *)any(&errors) localizedDescription]))
    MESSAGE(keep(&strings, [RESOURCE description]))
    MESSAGE(keep(&strings, [NSString stringWithFormat:@"%lu %@ %5.3s", number(), RESOURCE, "text"]))
END(send_any)

LIST(send_encoder)
    MESSAGE([ENCODER setComputePipelineState:any(&pipelines)])
    MESSAGE([ENCODER setComputePipelineState:any(&pipelines)])
    MESSAGE([ENCODER setBytes:scratch length:scratch_length() atIndex:below(3)])
    MESSAGE([ENCODER setBytes:scratch length:scratch_length() atIndex:number()])
    MESSAGE([ENCODER setBuffer:BUFFER offset:small() atIndex:below(3)])
    MESSAGE([ENCODER setBuffer:BUFFER offset:small() atIndex:below(3)])
    MESSAGE([ENCODER setBuffer:BUFFER offset:number() atIndex:number()])
    MESSAGE([ENCODER setBufferOffset:number() atIndex:small()])
    MESSAGE([ENCODER setBuffers:four_buffers() offsets:four_offsets() withRange:NSMakeRange(number(), below(5))])
    MESSAGE([ENCODER setBuffers:four_buffers() offsets:four_offsets() withRange:NSMakeRange(0, below(4))])
    MESSAGE([ENCODER setThreadgroupMemoryLength:ONE_OF(0, 1, 16, 128, 1024, 32768, 40000, number()) atIndex:below(2)])
    MESSAGE([ENCODER setThreadgroupMemoryLength:16 atIndex:number()])
    MESSAGE([ENCODER setTexture:TEXTURE atIndex:below(2)])
    MESSAGE([ENCODER setTexture:TEXTURE atIndex:number()])
    MESSAGE([ENCODER setSamplerState:any(&samplers) atIndex:below(2)])
    MESSAGE([ENCODER setSamplerState:any(&samplers) atIndex:number()])
    MESSAGE([ENCODER executeCommandsInBuffer:any(&lists) withRange:range()])
    MESSAGE([ENCODER dispatchThreadgroups:grid() threadsPerThreadgroup:threadgroup()])
    MESSAGE([ENCODER dispatchThreads:grid() threadsPerThreadgroup:threadgroup()])
    MESSAGE([ENCODER dispatchThreads:MTLSizeMake(33, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)])
    MESSAGE([ENCODER dispatchThreads:MTLSizeMake(small(), 1, 1) threadsPerThreadgroup:MTLSizeMake(8, 1, 1)])
    MESSAGE([ENCODER dispatchThreadgroupsWithIndirectBuffer:any(&small_counts) indirectBufferOffset:below(2) ? 4 * below(5) : number()
                                      threadsPerThreadgroup:threadgroup()])
    MESSAGE([ENCODER memoryBarrierWithScope:number()])
    MESSAGE([ENCODER memoryBarrierWithResources:four_resources() count:below(5)])
    MESSAGE([ENCODER updateFence:any(&fences)])
    MESSAGE([ENCODER waitForFence:any(&fences)])
    MESSAGE([ENCODER useResource:RESOURCE usage:number()])
    MESSAGE([ENCODER useResources:four_resources() count:below(5) usage:3])
    MESSAGE([ENCODER useHeap:any(&heaps)])
    MESSAGE([ENCODER pushDebugGroup:TEXT])
    MESSAGE([ENCODER popDebugGroup])
    MESSAGE([ENCODER insertDebugSignpost:TEXT])
    MESSAGE([ENCODER setLabel:TEXT])
END(send_encoder)

LIST(send_blit)
    MESSAGE([BLIT fillBuffer:BUFFER range:range() value:next()])
    MESSAGE([BLIT copyFromBuffer:BUFFER sourceOffset:small() toBuffer:BUFFER destinationOffset:small() size:small()])
    MESSAGE([BLIT copyFromBuffer:BUFFER sourceOffset:number() toBuffer:BUFFER destinationOffset:number() size:number()])
    MESSAGE([BLIT copyFromBuffer:BUFFER sourceOffset:small() sourceBytesPerRow:ONE_OF(0, 64, number()) sourceBytesPerImage:ONE_OF(0, 1024, number())
                      sourceSize:region().size toTexture:TEXTURE destinationSlice:below(3) destinationLevel:below(3) destinationOrigin:region().origin])
    MESSAGE([BLIT copyFromTexture:TEXTURE sourceSlice:below(3) sourceLevel:below(3) sourceOrigin:region().origin sourceSize:region().size
                         toBuffer:BUFFER destinationOffset:number() destinationBytesPerRow:ONE_OF(0, 64, number()) destinationBytesPerImage:number()])
    MESSAGE([BLIT resetCommandsInBuffer:any(&lists) withRange:range()])
    MESSAGE([BLIT synchronizeResource:RESOURCE])
    MESSAGE([BLIT updateFence:any(&fences)])
    MESSAGE([BLIT waitForFence:any(&fences)])
END(send_blit)

LIST(send_command)
    MESSAGE(keep(&list_commands, [(id<MTLIndirectCommandBuffer>)any(&lists) indirectComputeCommandAtIndex:below(3) ? small() : number()]))
    MESSAGE([(id<MTLIndirectCommandBuffer>)any(&lists) resetWithRange:range()])
    MESSAGE([(id<MTLIndirectComputeCommand>)any(&list_commands) setComputePipelineState:any(&pipelines)])
    MESSAGE([(id<MTLIndirectComputeCommand>)any(&list_commands) setKernelBuffer:BUFFER offset:number() atIndex:number()])
    MESSAGE([(id<MTLIndirectComputeCommand>)any(&list_commands) setKernelBuffer:BUFFER offset:small() atIndex:below(3)])
    MESSAGE([(id<MTLIndirectComputeCommand>)any(&list_commands) setThreadgroupMemoryLength:length() atIndex:small()])
    MESSAGE([(id<MTLIndirectComputeCommand>)any(&list_commands) concurrentDispatchThreadgroups:grid() threadsPerThreadgroup:threadgroup()])
    MESSAGE([(id<MTLIndirectComputeCommand>)any(&list_commands) concurrentDispatchThreads:grid() threadsPerThreadgroup:threadgroup()])
    MESSAGE([(id<MTLIndirectComputeCommand>)any(&list_commands) setBarrier])
    MESSAGE([(id<MTLIndirectComputeCommand>)any(&list_commands) reset])
END(send_command)

typedef void (*List)(NSUInteger which);

static uint64_t sent;

// Random messages of a list.
static void some_of(List list, NSUInteger all, NSUInteger count) {
  for (; count > 0; count--, sent++) @autoreleasepool {
      list(below(all));
    }
}

static void fill(Kind *kind, id object) {
  for (int at = 0; at < KEPT; at++) kind->all[at] = object;
}

// A command buffer whose messages come in an order that makes sense, so that something runs.
static void session(void) {
  id<MTLCommandBuffer> one = [(id<MTLCommandQueue>)queues.all[below(KEPT)] commandBuffer];
  id<MTLIndirectCommandBuffer> list = lists.all[below(KEPT)];
  fill(&list_commands, [list indirectComputeCommandAtIndex:0]);
  some_of(send_command, send_command_ALL, 6);
  for (NSUInteger n = below(3); n <= 3; n++) {
    if (below(3)) {
      id<MTLComputeCommandEncoder> encoder = [one computeCommandEncoderWithDispatchType:below(2)];
      fill(&encoders, encoder);
      [encoder setComputePipelineState:pipelines.all[below(4)]];
      for (int at = 0; at < 3; at++) [encoder setBuffer:buffers.all[below(KEPT)] offset:0 atIndex:at];
      some_of(send_encoder, send_encoder_ALL, 30);
      [encoder endEncoding];
    } else {
      id<MTLBlitCommandEncoder> blit = [one blitCommandEncoder];
      fill(&blits, blit);
      some_of(send_blit, send_blit_ALL, 12);
      [blit endEncoding];
    }
  }
  [one commit];
  if (below(2)) [one waitUntilCompleted];
}

static const char *source =
    "#include <metal_stdlib>\n"
    "using namespace metal; constant int more [[function_constant(0)]]; constant bool flag [[function_constant(1)]];\n"
    "kernel void add(device int *x [[buffer(0)]], constant int &y [[buffer(1)]], uint i [[thread_position_in_grid]]) { x[i] += y; }\n"
    "kernel void tile(device float *x [[buffer(0)]], threadgroup float *t [[threadgroup(0)]], uint i [[thread_index_in_threadgroup]]) {\n"
    "  t[i] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup); x[i] = t[i ^ 1]; }\n"
    "kernel void constants(device int *x [[buffer(2)]], uint i [[thread_position_in_grid]]) { x[i] = flag ? more : i; }\n"
    "kernel void look(texture2d<float> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]], sampler s [[sampler(0)]],\n"
    "                 uint2 i [[thread_position_in_grid]]) { to.write(from.sample(s, float2(i)), i); }\n";

static void begin(uint64_t seed) {
  state = seed * 0x9e3779b97f4a7c15ull + 1;
  NSError *error = nil;
  id<MTLLibrary> library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
  if (!library) {
    fprintf(stderr, "%s\n", error.localizedDescription.UTF8String);
    exit(2);
  }
  fill(&libraries, library);
  id<MTLBuffer> counts = [device newBufferWithLength:32 options:0];
  for (int at = 0; at < 8; at++) ((uint32_t *)counts.contents)[at] = at % 3;
  fill(&small_counts, counts);
  fill(&queues, [device newCommandQueue]);
  fill(&buffers, [device newBufferWithLength:4096 options:0]);
  fill(&constants, [MTLFunctionConstantValues new]);
  fill(&datas, [NSData dataWithBytes:"MTLB" length:4]);
  NSArray *names = @[ @"add", @"tile", @"constants", @"look", @"", @"grüße", @"/dev/null", @"more", @"flag" ];
  for (int at = 0; at < KEPT; at++) strings.all[at] = names[at % names.count];
  for (int at = 0; at < 4; at++) {
    id<MTLFunction> function = [library newFunctionWithName:names[at]];
    functions.all[at] = function;
    pipelines.all[at] = function ? [device newComputePipelineStateWithFunction:function error:&error] : nil;
  }
}

int main(int count, char **arguments) {
  uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 10) : 1, seeds = count > 2 ? strtoull(arguments[2], NULL, 10) : 20;
  uint64_t messages = count > 3 ? strtoull(arguments[3], NULL, 10) : 2000;
  device = MTLCreateSystemDefaultDevice();
  for (uint64_t seed = first; seed < first + seeds; seed++) {
    @autoreleasepool {
      begin(seed);
      uint64_t end = sent + messages;
      while (sent < end) {
        switch (below(8)) {
        case 0: some_of(send_encoder, send_encoder_ALL, 5); break;
        case 1: some_of(send_blit, send_blit_ALL, 5); break;
        case 2: some_of(send_command, send_command_ALL, 5); break;
        case 3: session(); break;
        default: some_of(send_any, send_any_ALL, 20);
        }
      }
      for (int at = 0; at < KEPT; at++) {
        id<MTLCommandBuffer> one = commands.all[at];
        if (one.status >= MTLCommandBufferStatusCommitted) [one waitUntilCompleted];
      }
    }
  }
  fprintf(stderr, "%llu messages\n", (unsigned long long)sent);
  puts("the process lives");
}
