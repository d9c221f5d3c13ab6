// Planted races between dispatches: 20 pairs that nothing orders, and beside each the same pair in order. Named lines go to standard
// error, and what is reported follows them; races.reports has both. Run with ASSAY_METAL_CHECK=1.
#import <Metal/Metal.h>

static id<MTLDevice> device;
static id<MTLComputePipelineState> copy, count;
static const NSUInteger bytes = 1024;

static const char *source =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "kernel void copy(device const uint *from [[buffer(0)]], device uint *to [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n"
    "  to[i] = from[i] + 1;\n}\n"
    "kernel void count(device atomic_uint *sum [[buffer(0)]], device uint *to [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n"
    "  to[i] = atomic_fetch_add_explicit(sum, 1, memory_order_relaxed);\n}\n";

typedef id<MTLBuffer> Buffer;
typedef id<MTLCommandBuffer> Commands;
typedef id<MTLComputeCommandEncoder> Encoder;

static Buffer tracked(void) {
  return [device newBufferWithLength:bytes options:MTLResourceStorageModeShared];
}

static Buffer untracked(void) {
  return [device newBufferWithLength:bytes options:MTLResourceHazardTrackingModeUntracked];
}

// A command buffer labelled with what is tried: reports that differ in their labels are told apart.
static Commands labelled(id<MTLCommandQueue> queue, const char *name) {
  Commands commands = [queue commandBuffer];
  commands.label = [NSString stringWithUTF8String:name];
  return commands;
}

static Encoder concurrent(Commands commands) {
  return [commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
}

static void run(Encoder encoder, id<MTLComputePipelineState> kernel, Buffer from, NSUInteger at, Buffer to, NSUInteger to_at, NSUInteger threads) {
  [encoder setComputePipelineState:kernel];
  [encoder setBuffer:from offset:at atIndex:0];
  [encoder setBuffer:to offset:to_at atIndex:1];
  [encoder dispatchThreads:MTLSizeMake(threads, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
}

static void whole(Encoder encoder, Buffer from, Buffer to) {
  run(encoder, copy, from, 0, to, 0, bytes / 4);
}

static void finish(Commands commands) {
  [commands commit];
  [commands waitUntilCompleted];
}

typedef void (^Between)(Encoder encoder, Buffer x, Buffer y, Buffer z);

// Two dispatches of a concurrent encoder with something between them: the second reads what the first wrote.
static void within(const char *name, BOOL untrack, Between between) {
  fprintf(stderr, "# %s\n", name);
  @autoreleasepool {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    Commands commands = labelled(queue, name);
    Buffer x = tracked(), y = untrack ? untracked() : tracked(), z = tracked();
    Encoder encoder = concurrent(commands);
    whole(encoder, x, y);
    between(encoder, x, y, z);
    whole(encoder, y, z);
    [encoder endEncoding];
    finish(commands);
  }
}

// A pair that `second` decides about, with or without a barrier between.
static void pair(const char *name, Between first, Between second) {
  for (int ordered = 0; ordered < 2; ordered++) {
    fprintf(stderr, "# %s%s\n", ordered ? "in order: " : "", name);
    @autoreleasepool {
      id<MTLCommandQueue> queue = [device newCommandQueue];
      Commands commands = labelled(queue, name);
      Buffer x = tracked(), y = tracked(), z = tracked();
      Encoder encoder = concurrent(commands);
      first(encoder, x, y, z);
      if (ordered) [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
      second(encoder, x, y, z);
      [encoder endEncoding];
      finish(commands);
    }
  }
}

static void barriers(void) {
  within("nothing between a write and a read", NO, ^(Encoder e, Buffer x, Buffer y, Buffer z) {});
  within("in order: a barrier", NO, ^(Encoder e, Buffer x, Buffer y, Buffer z) { [e memoryBarrierWithScope:MTLBarrierScopeBuffers]; });
  within("in order: a barrier for the buffer", NO, ^(Encoder e, Buffer x, Buffer y, Buffer z) { [e memoryBarrierWithResources:&y count:1]; });
  within("a barrier for another buffer", NO, ^(Encoder e, Buffer x, Buffer y, Buffer z) { [e memoryBarrierWithResources:&x count:1]; });
  within("a barrier for textures only", NO, ^(Encoder e, Buffer x, Buffer y, Buffer z) { [e memoryBarrierWithScope:MTLBarrierScopeTextures]; });
  within("a dispatch between that has nothing to do with it", YES, ^(Encoder e, Buffer x, Buffer y, Buffer z) { whole(e, x, tracked()); });
  within("useResource is not a barrier", NO, ^(Encoder e, Buffer x, Buffer y, Buffer z) { [e useResource:y usage:MTLResourceUsageRead]; });
  pair("a read, then a write", ^(Encoder e, Buffer x, Buffer y, Buffer z) { whole(e, x, y); }, ^(Encoder e, Buffer x, Buffer y, Buffer z) { whole(e, z, x); });
  pair("two writes", ^(Encoder e, Buffer x, Buffer y, Buffer z) { whole(e, x, y); }, ^(Encoder e, Buffer x, Buffer y, Buffer z) { whole(e, z, y); });
  pair("one common number", ^(Encoder e, Buffer x, Buffer y, Buffer z) { run(e, copy, x, 0, y, 0, 33); }, ^(Encoder e, Buffer x, Buffer y, Buffer z) { run(e, copy, y, 128, z, 0, 32); });
  pair("an atomic operation and a read", ^(Encoder e, Buffer x, Buffer y, Buffer z) { run(e, count, x, 0, y, 0, 32); }, ^(Encoder e, Buffer x, Buffer y, Buffer z) { whole(e, x, z); });
  pair("the same dispatch again", ^(Encoder e, Buffer x, Buffer y, Buffer z) { whole(e, x, y); }, ^(Encoder e, Buffer x, Buffer y, Buffer z) { whole(e, x, y); });
}

// Two commands of an indirect command buffer: they are concurrent whatever the encoder is.
static void indirect(void) {
  const char *name = "indirect commands without setBarrier";
  for (int ordered = 0; ordered < 2; ordered++) {
    fprintf(stderr, "# %s%s\n", ordered ? "in order: " : "", name);
    @autoreleasepool {
      Commands commands = labelled([device newCommandQueue], name);
      Buffer x = tracked(), y = tracked(), z = tracked();
      MTLIndirectCommandBufferDescriptor *descriptor = [MTLIndirectCommandBufferDescriptor new];
      descriptor.commandTypes = MTLIndirectCommandTypeConcurrentDispatch;
      descriptor.inheritBuffers = NO;
      descriptor.inheritPipelineState = YES;
      id<MTLIndirectCommandBuffer> often = [device newIndirectCommandBufferWithDescriptor:descriptor maxCommandCount:2 options:0];
      for (int n = 0; n < 2; n++) {
        id<MTLIndirectComputeCommand> command = [often indirectComputeCommandAtIndex:n];
        [command setKernelBuffer:n ? y : x offset:0 atIndex:0];
        [command setKernelBuffer:n ? z : y offset:0 atIndex:1];
        [command concurrentDispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
        if (ordered) [command setBarrier];
      }
      Encoder encoder = [commands computeCommandEncoder];
      [encoder setComputePipelineState:copy];
      [encoder executeCommandsInBuffer:often withRange:NSMakeRange(0, 2)];
      [encoder endEncoding];
      finish(commands);
    }
  }
}

// Dispatches that touch different numbers of one buffer, read the same, or add to one number need no order.
static void apart(void) {
  fprintf(stderr, "# in order: parts of one buffer, common reads, common atomic operations\n");
  @autoreleasepool {
    Commands commands = [[device newCommandQueue] commandBuffer];
    Buffer x = tracked(), y = tracked(), sum = tracked();
    Encoder encoder = concurrent(commands);
    run(encoder, copy, x, 0, y, 0, 32);
    run(encoder, copy, x, 0, y, 128, 32);
    run(encoder, count, sum, 0, y, 256, 32);
    run(encoder, count, sum, 0, y, 384, 32);
    [encoder endEncoding];
    finish(commands);
  }
}

typedef enum { NOTHING, FENCE, ANOTHER_FENCE, ONLY_UPDATE, ONLY_WAIT, WAITED, EVENT, HANDED_ON, TRACKED } How;

// Two encoders of one queue and a buffer that Metal does not track.
static void encoders(const char *name, How how, BOOL two) {
  fprintf(stderr, "# %s\n", name);
  @autoreleasepool {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    Commands commands = labelled(queue, name);
    Buffer x = tracked(), y = how == TRACKED ? tracked() : untracked(), z = tracked(), w = tracked();
    id<MTLFence> fence = [device newFence], other = [device newFence];
    id<MTLSharedEvent> event = [device newSharedEvent];
    Encoder encoder = [commands computeCommandEncoder];
    whole(encoder, x, y);
    if (how == FENCE || how == ANOTHER_FENCE || how == ONLY_UPDATE || how == HANDED_ON) [encoder updateFence:fence];
    [encoder endEncoding];
    if (how == HANDED_ON) {
      encoder = [commands computeCommandEncoder];
      [encoder waitForFence:fence];
      whole(encoder, x, w);
      [encoder updateFence:other];
      [encoder endEncoding];
    }
    if (how == EVENT) {
      [commands encodeSignalEvent:event value:1];
      [commands encodeWaitForEvent:event value:1];
    }
    if (two) {
      [commands commit];
      if (how == WAITED) [commands waitUntilCompleted];
      commands = labelled(queue, name);
    }
    encoder = [commands computeCommandEncoder];
    if (how == FENCE || how == ONLY_WAIT) [encoder waitForFence:fence];
    if (how == ANOTHER_FENCE || how == HANDED_ON) [encoder waitForFence:other];
    whole(encoder, y, z);
    [encoder endEncoding];
    finish(commands);
  }
}

static void fences(void) {
  encoders("an untracked buffer of two encoders", NOTHING, NO);
  encoders("an untracked buffer of two command buffers", NOTHING, YES);
  encoders("a fence that is not waited for", ONLY_UPDATE, NO);
  encoders("a fence that is not updated", ONLY_WAIT, NO);
  encoders("another fence", ANOTHER_FENCE, NO);
  encoders("in order: a fence", FENCE, NO);
  encoders("in order: a fence across command buffers", FENCE, YES);
  encoders("in order: a fence handed on", HANDED_ON, NO);
  encoders("in order: waitUntilCompleted", WAITED, YES);
  encoders("in order: an event", EVENT, NO);
  encoders("in order: a tracked buffer", TRACKED, NO);
  fprintf(stderr, "# an untracked buffer of a heap, filled and read\n");
  @autoreleasepool {
    MTLHeapDescriptor *descriptor = [MTLHeapDescriptor new];
    descriptor.size = 1 << 16;
    descriptor.storageMode = MTLStorageModeShared;
    Buffer x = [[device newHeapWithDescriptor:descriptor] newBufferWithLength:bytes options:0], y = tracked();
    Commands commands = [[device newCommandQueue] commandBuffer];
    id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    [blit fillBuffer:x range:NSMakeRange(0, bytes) value:1];
    [blit endEncoding];
    Encoder encoder = [commands computeCommandEncoder];
    whole(encoder, x, y);
    [encoder endEncoding];
    finish(commands);
  }
}

// Two queues and a tracked buffer: tracking is of one queue.
static void across(const char *name, How how, BOOL writes) {
  fprintf(stderr, "# %s\n", name);
  @autoreleasepool {
    id<MTLCommandQueue> first = [device newCommandQueue], second = [device newCommandQueue];
    Buffer x = tracked(), y = tracked(), z = tracked();
    id<MTLSharedEvent> event = [device newSharedEvent], other = [device newSharedEvent];
    Commands one = labelled(first, name), two = labelled(second, name);
    Encoder encoder = [one computeCommandEncoder];
    whole(encoder, x, y);
    [encoder endEncoding];
    if (how == EVENT || how == ONLY_UPDATE) [one encodeSignalEvent:event value:1];
    if (how == EVENT) [two encodeWaitForEvent:event value:1];
    if (how == ONLY_WAIT) {
      other.signaledValue = 1;
      [two encodeWaitForEvent:other value:1];
    }
    encoder = [two computeCommandEncoder];
    if (writes) whole(encoder, z, y);
    else whole(encoder, y, z);
    [encoder endEncoding];
    [one commit];
    if (how == WAITED) [one waitUntilCompleted];
    [two commit];
    [one waitUntilCompleted];
    [two waitUntilCompleted];
  }
}

static void queues(void) {
  across("two queues, a write and a read", NOTHING, NO);
  across("two queues, two writes", NOTHING, YES);
  across("an event that is not waited for", ONLY_UPDATE, NO);
  across("an event that the program set", ONLY_WAIT, NO);
  across("in order: an event between queues", EVENT, NO);
  across("in order: waitUntilCompleted between queues", WAITED, NO);
}

int main(void) {
  @autoreleasepool {
    device = MTLCreateSystemDefaultDevice();
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
    copy = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"copy"] error:&error];
    count = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"count"] error:&error];
    if (!copy || !count) {
      fprintf(stderr, "%s\n", error.localizedDescription.UTF8String);
      return 2;
    }
    barriers();
    apart();
    indirect();
    fences();
    queues();
  }
  return 0;
}
