// Metal 4's command model, as far as compute uses it.
#pragma once
#include <Metal/Metal.h>

typedef NSUInteger MTLStages;
enum { MTLStageDispatch = 1 << 27, MTLStageBlit = 1 << 28 };
#define MTLStageAll ((MTLStages)NSUIntegerMax >> 1)
typedef NSUInteger MTL4VisibilityOptions;
enum { MTL4VisibilityOptionNone = 0, MTL4VisibilityOptionDevice = 1 };
typedef NSInteger MTL4CompilerTaskStatus;
enum { MTL4CompilerTaskStatusFinished = 3 };

#ifdef __OBJC__
@protocol MTL4CommitFeedback <NSObject>
@property(readonly) NSError *error;
@property(readonly) CFTimeInterval GPUStartTime, GPUEndTime;
@end
@interface MTL4CommitOptions : NSObject
- (void)addFeedbackHandler:(void (^)(id<MTL4CommitFeedback> feedback))block;
@end
@interface MTL4CommandBufferOptions : NSObject <NSCopying>
@property(retain) id<MTLLogState> logState;
@end
@interface MTL4CommandQueueDescriptor : NSObject <NSCopying>
@property(copy) NSString *label;
@end
@interface MTL4CommandAllocatorDescriptor : NSObject <NSCopying>
@property(copy) NSString *label;
@end
@interface MTL4ArgumentTableDescriptor : NSObject <NSCopying>
@property NSUInteger maxBufferBindCount, maxTextureBindCount, maxSamplerStateBindCount;
@property BOOL initializeBindings, supportAttributeStrides;
@property(copy) NSString *label;
@end
@interface MTL4CompilerDescriptor : NSObject <NSCopying>
@property(copy) NSString *label;
@end
@interface MTL4CompilerTaskOptions : NSObject <NSCopying>
@property(copy) NSArray *lookupArchives;
@end
@interface MTL4LibraryDescriptor : NSObject <NSCopying>
@property(copy) NSString *source, *name;
@property(copy) MTLCompileOptions *options;
@end
@interface MTL4FunctionDescriptor : NSObject <NSCopying>
@end
@interface MTL4LibraryFunctionDescriptor : MTL4FunctionDescriptor
@property(copy) NSString *name;
@property(retain) id<MTLLibrary> library;
@end
@interface MTL4SpecializedFunctionDescriptor : MTL4FunctionDescriptor
@property(copy) MTL4FunctionDescriptor *functionDescriptor;
@property(copy) NSString *specializedName;
@property(copy) MTLFunctionConstantValues *constantValues;
@end
@interface MTL4ComputePipelineDescriptor : NSObject <NSCopying>
@property(copy) NSString *label;
@property(copy) MTL4FunctionDescriptor *computeFunctionDescriptor;
@property NSUInteger maxTotalThreadsPerThreadgroup;
@property BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth, supportBinaryLinking;
@property NSInteger supportIndirectCommandBuffers;
@end
@protocol MTL4ArgumentTable <NSObject>
@property(readonly) NSString *label;
@property(readonly) id<MTLDevice> device;
- (void)setAddress:(MTLGPUAddress)address atIndex:(NSUInteger)index;
- (void)setResource:(MTLResourceID)resource atBufferIndex:(NSUInteger)index;
- (void)setTexture:(MTLResourceID)texture atIndex:(NSUInteger)index;
- (void)setSamplerState:(MTLResourceID)sampler atIndex:(NSUInteger)index;
@end
@protocol MTL4CommandAllocator <NSObject>
@property(readonly) NSString *label;
@property(readonly) id<MTLDevice> device;
- (uint64_t)allocatedSize;
- (void)reset;
@end
@protocol MTL4ComputeCommandEncoder <NSObject>
@property(copy) NSString *label;
- (MTLStages)stages;
- (void)setComputePipelineState:(id<MTLComputePipelineState>)pipeline;
- (void)setArgumentTable:(id<MTL4ArgumentTable>)table;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)dispatchThreads:(MTLSize)threads threadsPerThreadgroup:(MTLSize)threadgroup;
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threadgroup;
- (void)dispatchThreadgroupsWithIndirectBuffer:(MTLGPUAddress)address threadsPerThreadgroup:(MTLSize)threadgroup;
- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)commands withRange:(NSRange)range;
- (void)copyFromBuffer:(id<MTLBuffer>)from sourceOffset:(NSUInteger)at toBuffer:(id<MTLBuffer>)to destinationOffset:(NSUInteger)toAt size:(NSUInteger)size;
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value;
- (void)barrierAfterEncoderStages:(MTLStages)after beforeEncoderStages:(MTLStages)before visibilityOptions:(MTL4VisibilityOptions)options;
- (void)barrierAfterQueueStages:(MTLStages)after beforeStages:(MTLStages)before visibilityOptions:(MTL4VisibilityOptions)options;
- (void)barrierAfterStages:(MTLStages)after beforeQueueStages:(MTLStages)before visibilityOptions:(MTL4VisibilityOptions)options;
- (void)updateFence:(id<MTLFence>)fence afterEncoderStages:(MTLStages)stages;
- (void)waitForFence:(id<MTLFence>)fence beforeEncoderStages:(MTLStages)stages;
- (void)pushDebugGroup:(NSString *)name;
- (void)popDebugGroup;
- (void)endEncoding;
@end
@protocol MTL4CommandBuffer <NSObject>
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
- (void)beginCommandBufferWithAllocator:(id<MTL4CommandAllocator>)allocator;
- (void)beginCommandBufferWithAllocator:(id<MTL4CommandAllocator>)allocator options:(MTL4CommandBufferOptions *)options;
- (void)endCommandBuffer;
- (id<MTL4ComputeCommandEncoder>)computeCommandEncoder;
- (void)useResidencySet:(id<MTLResidencySet>)set;
@end
@protocol MTL4CommandQueue <NSObject>
@property(readonly) NSString *label;
@property(readonly) id<MTLDevice> device;
- (void)commit:(const id<MTL4CommandBuffer> __unsafe_unretained *)buffers count:(NSUInteger)count;
- (void)commit:(const id<MTL4CommandBuffer> __unsafe_unretained *)buffers count:(NSUInteger)count options:(MTL4CommitOptions *)options;
- (void)signalEvent:(id<MTLEvent>)event value:(uint64_t)value;
- (void)waitForEvent:(id<MTLEvent>)event value:(uint64_t)value;
- (void)addResidencySet:(id<MTLResidencySet>)set;
- (void)removeResidencySet:(id<MTLResidencySet>)set;
@end
@protocol MTL4CompilerTask <NSObject>
@property(readonly) MTL4CompilerTaskStatus status;
- (void)waitUntilCompleted;
@end
@protocol MTL4Compiler <NSObject>
@property(readonly) NSString *label;
@property(readonly) id<MTLDevice> device;
- (id<MTLLibrary>)newLibraryWithDescriptor:(MTL4LibraryDescriptor *)descriptor error:(NSError **)error;
- (id<MTLComputePipelineState>)newComputePipelineStateWithDescriptor:(MTL4ComputePipelineDescriptor *)descriptor compilerTaskOptions:(MTL4CompilerTaskOptions *)options error:(NSError **)error;
- (id<MTL4CompilerTask>)newComputePipelineStateWithDescriptor:(MTL4ComputePipelineDescriptor *)descriptor compilerTaskOptions:(MTL4CompilerTaskOptions *)options completionHandler:(void (^)(id<MTLComputePipelineState> pipeline, NSError *error))block;
@end
#endif
