// Planted faults, as Metal's own validation layer finds them: each is one wrong use of the API, and its name and what is reported
// about it are the lines of faults.reports.
#import <Metal/Metal.h>

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;
static id<MTLLibrary> library;
static id<MTLComputePipelineState> add, tile;
static id<MTLBuffer> a, b;
static const MTLSize one = {1, 1, 1}, row = {32, 1, 1};

static const char *source =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "constant int more [[function_constant(0)]];\n"
    "kernel void add(device float *x [[buffer(0)]], constant float &y [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n"
    "  x[i] += y;\n}\n"
    "kernel void tile(device float *x [[buffer(0)]], threadgroup float *t [[threadgroup(0)]], uint i [[thread_index_in_threadgroup]]) {\n"
    "  t[i] = x[i];\n  threadgroup_barrier(mem_flags::mem_threadgroup);\n  x[i] = t[i];\n}\n"
    "kernel void constants(device int *x [[buffer(0)]]) { x[0] = more; }\n";

typedef id<MTLCommandBuffer> Commands;
typedef id<MTLComputeCommandEncoder> Encoder;
typedef id<MTLBlitCommandEncoder> Blit;

static void finish(Commands commands) {
  [commands commit];
  [commands waitUntilCompleted];
}

// Runs a block with an encoder in which all that `add` needs is set.
static void encoding(void (^what)(Encoder encoder)) {
  Commands commands = [queue commandBuffer];
  Encoder encoder = [commands computeCommandEncoder];
  float y = 1;
  [encoder setComputePipelineState:add];
  [encoder setBuffer:a offset:0 atIndex:0];
  [encoder setBytes:&y length:4 atIndex:1];
  what(encoder);
  [encoder endEncoding];
  finish(commands);
}

static void copying(void (^what)(Blit blit)) {
  Commands commands = [queue commandBuffer];
  Blit blit = [commands blitCommandEncoder];
  what(blit);
  [blit endEncoding];
  finish(commands);
}

static id<MTLHeap> heap(MTLHeapType type) {
  MTLHeapDescriptor *descriptor = [MTLHeapDescriptor new];
  descriptor.size = 1 << 16;
  descriptor.type = type;
  descriptor.storageMode = MTLStorageModeShared;
  return [device newHeapWithDescriptor:descriptor];
}

#define FAULT(name, ...) \
  fprintf(stderr, "# %s\n", name); \
  @autoreleasepool { __VA_ARGS__ }

static void buffers(void) {
  FAULT("a buffer of no bytes", { (void)[device newBufferWithLength:0 options:0]; })
  FAULT("a buffer over the limit", { (void)[device newBufferWithLength:1ull << 40 options:0]; })
  FAULT("bytes from null", { (void)[device newBufferWithBytes:NULL length:16 options:0]; })
  FAULT("bytes for private storage", { (void)[device newBufferWithBytes:"0123" length:4 options:MTLResourceStorageModePrivate]; })
  FAULT("a buffer that is memoryless", { (void)[device newBufferWithLength:64 options:3 << 4]; })
  static char memory[16384 * 3] __attribute__((aligned(16384)));
  FAULT("memory that does not start at a page", { (void)[device newBufferWithBytesNoCopy:memory + 16 length:16384 options:0 deallocator:nil]; })
  FAULT("memory that is not whole pages", { (void)[device newBufferWithBytesNoCopy:memory length:100 options:0 deallocator:nil]; })
  FAULT("no memory", { (void)[device newBufferWithBytesNoCopy:NULL length:16384 options:0 deallocator:nil]; })
  FAULT("the program's memory as private storage", { (void)[device newBufferWithBytesNoCopy:memory length:16384 options:MTLResourceStorageModePrivate deallocator:nil]; })
  FAULT("contents of private storage", { (void)[device newBufferWithLength:64 options:MTLResourceStorageModePrivate].contents; })
  FAULT("didModifyRange of shared storage", { [a didModifyRange:NSMakeRange(0, 4)]; })
  FAULT("didModifyRange outside", { [[device newBufferWithLength:64 options:MTLResourceStorageModeManaged] didModifyRange:NSMakeRange(60, 8)]; })
  FAULT("a purged buffer", {
    id<MTLBuffer> purged = [device newBufferWithLength:4096 options:0];
    [purged setPurgeableState:MTLPurgeableStateEmpty];
    encoding(^(Encoder encoder) {
      [encoder setBuffer:purged offset:0 atIndex:0];
      [encoder dispatchThreads:one threadsPerThreadgroup:one];
    });
  })
}

static void heaps(void) {
  FAULT("a heap of no bytes", { (void)[device newHeapWithDescriptor:[MTLHeapDescriptor new]]; })
  FAULT("another storage mode than the heap's", { (void)[heap(MTLHeapTypeAutomatic) newBufferWithLength:64 options:MTLResourceStorageModePrivate]; })
  FAULT("no bytes of a heap", { (void)[heap(MTLHeapTypeAutomatic) newBufferWithLength:0 options:0]; })
  FAULT("no offset in a placement heap", { (void)[heap(MTLHeapTypePlacement) newBufferWithLength:64 options:0]; })
  FAULT("an offset in an automatic heap", { (void)[heap(MTLHeapTypeAutomatic) newBufferWithLength:64 options:0 offset:0]; })
  FAULT("an offset that is not aligned", { (void)[heap(MTLHeapTypePlacement) newBufferWithLength:64 options:0 offset:100]; })
  FAULT("a place outside the heap", { (void)[heap(MTLHeapTypePlacement) newBufferWithLength:64 options:0 offset:1 << 16]; })
}

static void pipelines(void) {
  NSError *error = nil;
  FAULT("no source", { (void)[device newLibraryWithSource:nil options:nil error:&error]; })
  FAULT("a function without a name", { (void)[library newFunctionWithName:nil]; })
  FAULT("a pipeline without a function", { (void)[device newComputePipelineStateWithFunction:nil error:&error]; })
  FAULT("a pipeline with too many threads", {
    MTLComputePipelineDescriptor *descriptor = [MTLComputePipelineDescriptor new];
    descriptor.computeFunction = [library newFunctionWithName:@"add"];
    descriptor.maxTotalThreadsPerThreadgroup = 2048;
    (void)[device newComputePipelineStateWithDescriptor:descriptor options:0 reflection:nil error:&error];
  })
  FAULT("a constant of an unknown type", { int x = 1; [[MTLFunctionConstantValues new] setConstantValue:&x type:999 atIndex:0]; })
  FAULT("a constant from null", { [[MTLFunctionConstantValues new] setConstantValue:NULL type:MTLDataTypeInt atIndex:0]; })
  FAULT("a constant without a value", {
    (void)[device newComputePipelineStateWithFunction:[library newFunctionWithName:@"constants"] error:&error];
  })
  FAULT("a queue of no command buffers", { (void)[device newCommandQueueWithMaxCommandBufferCount:0]; })
}

static void lifecycle(void) {
  FAULT("committed twice", { Commands c = [queue commandBuffer]; [c commit]; [c commit]; })
  FAULT("enqueued twice", { Commands c = [queue commandBuffer]; [c enqueue]; [c enqueue]; [c commit]; })
  FAULT("committed with an encoder open", { Commands c = [queue commandBuffer]; Encoder e = [c computeCommandEncoder]; [c commit]; [e endEncoding]; })
  FAULT("two encoders at once", { Commands c = [queue commandBuffer]; Encoder e = [c computeCommandEncoder]; Blit f = [c blitCommandEncoder]; [f endEncoding]; [e endEncoding]; [c commit]; })
  FAULT("an encoder after commit", { Commands c = [queue commandBuffer]; [c commit]; [[c computeCommandEncoder] endEncoding]; })
  FAULT("ended twice", { Commands c = [queue commandBuffer]; Encoder e = [c computeCommandEncoder]; [e endEncoding]; [e endEncoding]; [c commit]; })
  FAULT("an encoder that is not ended", { Commands c = [queue commandBuffer]; @autoreleasepool { (void)[c computeCommandEncoder]; } [c commit]; })
  FAULT("a dispatch after endEncoding", {
    Commands c = [queue commandBuffer];
    Encoder e = [c computeCommandEncoder];
    [e setComputePipelineState:add];
    [e endEncoding];
    [e dispatchThreads:one threadsPerThreadgroup:one];
    [c commit];
  })
  FAULT("a copy after endEncoding", {
    Commands c = [queue commandBuffer];
    Blit e = [c blitCommandEncoder];
    [e endEncoding];
    [e copyFromBuffer:a sourceOffset:0 toBuffer:b destinationOffset:0 size:4];
    [c commit];
  })
  FAULT("waiting for what was not committed", { [[queue commandBuffer] waitUntilCompleted]; })
  FAULT("waiting for the schedule of what was not committed", { [[queue commandBuffer] waitUntilScheduled]; })
  FAULT("a completed handler after commit", { Commands c = [queue commandBuffer]; [c commit]; [c addCompletedHandler:^(Commands d) {}]; })
  FAULT("a scheduled handler after commit", { Commands c = [queue commandBuffer]; [c commit]; [c addScheduledHandler:^(Commands d) {}]; })
  FAULT("a handler that is nil", { [[queue commandBuffer] addCompletedHandler:nil]; })
  FAULT("a debug group popped too often", { [[queue commandBuffer] popDebugGroup]; })
  FAULT("a debug group of an encoder popped too often", { encoding(^(Encoder e) { [e popDebugGroup]; }); })
  FAULT("a debug group that is not popped", { encoding(^(Encoder e) { [e pushDebugGroup:@"group"]; }); })
}

static void events(void) {
  id<MTLSharedEvent> event = [device newSharedEvent];
  FAULT("a signal within an encoder", { Commands c = [queue commandBuffer]; Encoder e = [c computeCommandEncoder]; [c encodeSignalEvent:event value:1]; [e endEncoding]; finish(c); })
  FAULT("a wait within an encoder", { Commands c = [queue commandBuffer]; Encoder e = [c computeCommandEncoder]; [c encodeWaitForEvent:event value:1]; [e endEncoding]; finish(c); })
  FAULT("a signal of nil", { Commands c = [queue commandBuffer]; [c encodeSignalEvent:nil value:1]; finish(c); })
  FAULT("a wait for nil", { Commands c = [queue commandBuffer]; [c encodeWaitForEvent:nil value:1]; finish(c); })
  FAULT("a value that falls", { event.signaledValue = 5; event.signaledValue = 4; })
  FAULT("a listener without a block", { [event notifyListener:[MTLSharedEventListener new] atValue:9 block:nil]; })
  FAULT("an update of a fence that is nil", { encoding(^(Encoder e) { [e updateFence:nil]; }); })
  FAULT("a wait for a fence that is nil", { encoding(^(Encoder e) { [e waitForFence:nil]; }); })
  FAULT("a wait for a fence after its update", { id<MTLFence> fence = [device newFence]; encoding(^(Encoder e) { [e updateFence:fence]; [e waitForFence:fence]; }); })
}

static void dispatches(void) {
  FAULT("no pipeline", { Commands c = [queue commandBuffer]; Encoder e = [c computeCommandEncoder]; [e dispatchThreads:one threadsPerThreadgroup:one]; [e endEncoding]; finish(c); })
  FAULT("a pipeline that is nil", { encoding(^(Encoder e) { [e setComputePipelineState:nil]; }); })
  FAULT("a buffer at an index over the limit", { encoding(^(Encoder e) { [e setBuffer:a offset:0 atIndex:31]; }); })
  FAULT("an offset behind the buffer", { encoding(^(Encoder e) { [e setBuffer:a offset:5000 atIndex:0]; }); })
  FAULT("an offset at the end of the buffer", { encoding(^(Encoder e) { [e setBuffer:a offset:4096 atIndex:0]; }); })
  FAULT("something else than a buffer", { encoding(^(Encoder e) { [e setBuffer:(id<MTLBuffer>)queue offset:0 atIndex:0]; }); })
  FAULT("an offset of no buffer", { encoding(^(Encoder e) { [e setBufferOffset:4 atIndex:7]; }); })
  FAULT("a new offset behind the buffer", { encoding(^(Encoder e) { [e setBufferOffset:4100 atIndex:0]; }); })
  FAULT("no bytes", { encoding(^(Encoder e) { [e setBytes:"" length:0 atIndex:2]; }); })
  FAULT("more than 4096 bytes", { static char many[5000]; encoding(^(Encoder e) { [e setBytes:many length:5000 atIndex:2]; }); })
  FAULT("bytes of an encoder from null", { encoding(^(Encoder e) { [e setBytes:NULL length:4 atIndex:2]; }); })
  FAULT("threadgroup memory that is not a multiple of 16", { encoding(^(Encoder e) { [e setThreadgroupMemoryLength:100 atIndex:0]; }); })
  FAULT("threadgroup memory at an index over the limit", { encoding(^(Encoder e) { [e setThreadgroupMemoryLength:64 atIndex:40]; }); })
  FAULT("more threadgroup memory than there is", {
    encoding(^(Encoder e) {
      [e setComputePipelineState:tile];
      [e setThreadgroupMemoryLength:65536 atIndex:0];
      [e dispatchThreads:row threadsPerThreadgroup:row];
    });
  })
  FAULT("threadgroup memory without a length", { encoding(^(Encoder e) { [e setComputePipelineState:tile]; [e dispatchThreads:row threadsPerThreadgroup:row]; }); })
  FAULT("a threadgroup of no threads", { encoding(^(Encoder e) { [e dispatchThreads:one threadsPerThreadgroup:MTLSizeMake(0, 1, 1)]; }); })
  FAULT("a threadgroup over the limit", { encoding(^(Encoder e) { [e dispatchThreads:one threadsPerThreadgroup:MTLSizeMake(64, 32, 1)]; }); })
  FAULT("an argument that is not bound", { encoding(^(Encoder e) { [e setBuffer:nil offset:0 atIndex:1]; [e dispatchThreads:one threadsPerThreadgroup:one]; }); })
  FAULT("indirect arguments of nil", { encoding(^(Encoder e) { [e dispatchThreadgroupsWithIndirectBuffer:nil indirectBufferOffset:0 threadsPerThreadgroup:one]; }); })
  FAULT("indirect arguments that are not aligned", { encoding(^(Encoder e) { [e dispatchThreadgroupsWithIndirectBuffer:b indirectBufferOffset:2 threadsPerThreadgroup:one]; }); })
  FAULT("indirect arguments outside their buffer", { encoding(^(Encoder e) { [e dispatchThreadgroupsWithIndirectBuffer:b indirectBufferOffset:4088 threadsPerThreadgroup:one]; }); })
  FAULT("a barrier of no scope", { encoding(^(Encoder e) { [e memoryBarrierWithScope:0]; }); })
  FAULT("a barrier of no resources", { encoding(^(Encoder e) { [e memoryBarrierWithResources:NULL count:0]; }); })
  FAULT("a barrier of nil", { encoding(^(Encoder e) { id<MTLResource> none = nil; [e memoryBarrierWithResources:&none count:1]; }); })
  FAULT("the use of nil", { encoding(^(Encoder e) { [e useResource:nil usage:MTLResourceUsageRead]; }); })
}

static void copies(void) {
  FAULT("a fill outside", { copying(^(Blit e) { [e fillBuffer:a range:NSMakeRange(4000, 200) value:0]; }); })
  FAULT("a fill of no bytes", { copying(^(Blit e) { [e fillBuffer:a range:NSMakeRange(0, 0) value:0]; }); })
  FAULT("a fill of nil", { copying(^(Blit e) { [e fillBuffer:nil range:NSMakeRange(0, 4) value:0]; }); })
  FAULT("a copy from outside", { copying(^(Blit e) { [e copyFromBuffer:a sourceOffset:4090 toBuffer:b destinationOffset:0 size:16]; }); })
  FAULT("a copy to outside", { copying(^(Blit e) { [e copyFromBuffer:a sourceOffset:0 toBuffer:b destinationOffset:4090 size:16]; }); })
  FAULT("a copy within itself", { copying(^(Blit e) { [e copyFromBuffer:a sourceOffset:0 toBuffer:a destinationOffset:8 size:16]; }); })
  FAULT("a copy of no bytes", { copying(^(Blit e) { [e copyFromBuffer:a sourceOffset:0 toBuffer:b destinationOffset:0 size:0]; }); })
}

int main(void) {
  @autoreleasepool {
    device = MTLCreateSystemDefaultDevice();
    queue = [device newCommandQueue];
    NSError *error = nil;
    library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
    if (!library) {
      fprintf(stderr, "%s\n", error.localizedDescription.UTF8String);
      return 2;
    }
    add = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"add"] error:&error];
    tile = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"tile"] error:&error];
    a = [device newBufferWithLength:4096 options:0];
    b = [device newBufferWithLength:4096 options:0];
    buffers();
    heaps();
    pipelines();
    lifecycle();
    events();
    dispatches();
    copies();
    fprintf(stderr, "# none\n");
    encoding(^(Encoder e) { [e dispatchThreads:row threadsPerThreadgroup:row]; });
  }
  return 0;
}
