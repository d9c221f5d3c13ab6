// Indirect command buffers, and binary archives.
#pragma once
#include <Foundation/Foundation.h>

typedef NSUInteger MTLIndirectCommandType;
enum { MTLIndirectCommandTypeConcurrentDispatch = 32, MTLIndirectCommandTypeConcurrentDispatchThreads = 64 };

#ifdef __OBJC__
@interface MTLIndirectCommandBufferDescriptor : NSObject <NSCopying>
@property MTLIndirectCommandType commandTypes;
@property BOOL inheritBuffers, inheritPipelineState;
@property NSUInteger maxKernelBufferBindCount;
@end
@interface MTLBinaryArchiveDescriptor : NSObject <NSCopying>
@property(copy) NSURL *url;
@end
@protocol MTLIndirectComputeCommand <NSObject>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)pipeline;
- (void)setKernelBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)concurrentDispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threadgroup;
- (void)concurrentDispatchThreads:(MTLSize)threads threadsPerThreadgroup:(MTLSize)threadgroup;
- (void)setBarrier;
- (void)clearBarrier;
- (void)reset;
@end
@protocol MTLIndirectCommandBuffer <MTLResource>
@property(readonly) NSUInteger size;
- (id<MTLIndirectComputeCommand>)indirectComputeCommandAtIndex:(NSUInteger)index;
- (void)resetWithRange:(NSRange)range;
@end
@protocol MTLBinaryArchive <NSObject>
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor *)descriptor error:(NSError **)error;
- (BOOL)serializeToURL:(NSURL *)url error:(NSError **)error;
@end
#endif
