// Metal's compute interface, as the shared object's tables have it.
#pragma once
#include <CoreFoundation/CoreFoundation.h>
#include <Foundation/Foundation.h>

typedef struct {
  NSUInteger width, height, depth;
} MTLSize;
typedef struct {
  NSUInteger x, y, z;
} MTLOrigin;
typedef struct {
  MTLOrigin origin;
  MTLSize size;
} MTLRegion;
typedef struct {
  NSUInteger size, align;
} MTLSizeAndAlign;
typedef struct {
  uint32_t threadgroupsPerGrid[3];
} MTLDispatchThreadgroupsIndirectArguments;
typedef struct {
  uint64_t _impl;
} MTLResourceID;
typedef uint64_t MTLGPUAddress;
typedef uint64_t MTLTimestamp;
static inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
  MTLSize size = {width, height, depth};
  return size;
}

typedef NSUInteger MTLStorageMode;
enum { MTLStorageModeShared = 0, MTLStorageModeManaged = 1, MTLStorageModePrivate = 2, MTLStorageModeMemoryless = 3 };
typedef NSUInteger MTLCPUCacheMode;
enum { MTLCPUCacheModeDefaultCache = 0, MTLCPUCacheModeWriteCombined = 1 };
typedef NSUInteger MTLHazardTrackingMode;
enum { MTLHazardTrackingModeDefault = 0, MTLHazardTrackingModeUntracked = 1, MTLHazardTrackingModeTracked = 2 };
typedef NSUInteger MTLResourceOptions;
enum {
  MTLResourceCPUCacheModeDefaultCache = 0,
  MTLResourceCPUCacheModeWriteCombined = 1,
  MTLResourceStorageModeShared = 0,
  MTLResourceStorageModeManaged = 1 << 4,
  MTLResourceStorageModePrivate = 2 << 4,
  MTLResourceHazardTrackingModeDefault = 0,
  MTLResourceHazardTrackingModeUntracked = 1 << 8,
  MTLResourceHazardTrackingModeTracked = 2 << 8
};
typedef NSUInteger MTLPurgeableState;
enum { MTLPurgeableStateKeepCurrent = 1, MTLPurgeableStateNonVolatile = 2, MTLPurgeableStateVolatile = 3, MTLPurgeableStateEmpty = 4 };
typedef NSInteger MTLHeapType;
enum { MTLHeapTypeAutomatic = 0, MTLHeapTypePlacement = 1 };
typedef NSUInteger MTLResourceUsage;
enum { MTLResourceUsageRead = 1, MTLResourceUsageWrite = 2 };
typedef NSUInteger MTLBarrierScope;
enum { MTLBarrierScopeBuffers = 1, MTLBarrierScopeTextures = 2 };
typedef NSUInteger MTLDispatchType;
enum { MTLDispatchTypeSerial = 0, MTLDispatchTypeConcurrent = 1 };
typedef NSUInteger MTLCommandBufferStatus;
enum {
  MTLCommandBufferStatusNotEnqueued = 0,
  MTLCommandBufferStatusEnqueued = 1,
  MTLCommandBufferStatusCommitted = 2,
  MTLCommandBufferStatusScheduled = 3,
  MTLCommandBufferStatusCompleted = 4,
  MTLCommandBufferStatusError = 5
};
typedef NSInteger MTLGPUFamily;
enum {
  MTLGPUFamilyApple1 = 1001,
  MTLGPUFamilyApple2,
  MTLGPUFamilyApple3,
  MTLGPUFamilyApple4,
  MTLGPUFamilyApple5,
  MTLGPUFamilyApple6,
  MTLGPUFamilyApple7,
  MTLGPUFamilyApple8,
  MTLGPUFamilyApple9,
  MTLGPUFamilyApple10,
  MTLGPUFamilyMac1 = 2001,
  MTLGPUFamilyMac2 = 2002,
  MTLGPUFamilyCommon1 = 3001,
  MTLGPUFamilyCommon2,
  MTLGPUFamilyCommon3,
  MTLGPUFamilyMetal3 = 5001,
  MTLGPUFamilyMetal4 = 5002
};
typedef NSUInteger MTLLanguageVersion;
enum {
  MTLLanguageVersion2_3 = 0x20003,
  MTLLanguageVersion2_4 = 0x20004,
  MTLLanguageVersion3_0 = 0x30000,
  MTLLanguageVersion3_1 = 0x30001,
  MTLLanguageVersion3_2 = 0x30002,
  MTLLanguageVersion4_0 = 0x40000
};
typedef NSInteger MTLMathMode;
enum { MTLMathModeSafe = 0, MTLMathModeRelaxed = 1, MTLMathModeFast = 2 };
typedef NSInteger MTLLibraryOptimizationLevel;
enum { MTLLibraryOptimizationLevelDefault = 0, MTLLibraryOptimizationLevelSize = 1 };
typedef NSUInteger MTLPipelineOption;
enum { MTLPipelineOptionNone = 0, MTLPipelineOptionBindingInfo = 1, MTLPipelineOptionBufferTypeInfo = 2 };
typedef NSUInteger MTLFunctionType;
enum { MTLFunctionTypeKernel = 3 };
typedef NSUInteger MTLDeviceLocation;
typedef NSUInteger MTLDataType;
enum {
  MTLDataTypeFloat = 3,
  MTLDataTypeFloat2,
  MTLDataTypeFloat3,
  MTLDataTypeFloat4,
  MTLDataTypeTexture = 58,
  MTLDataTypeSampler = 59,
  MTLDataTypePointer = 60,
  MTLDataTypeHalf = 16,
  MTLDataTypeInt = 29,
  MTLDataTypeUInt = 33,
  MTLDataTypeShort = 37,
  MTLDataTypeUShort = 41,
  MTLDataTypeChar = 45,
  MTLDataTypeUChar = 49,
  MTLDataTypeBool = 53,
  MTLDataTypeLong = 81,
  MTLDataTypeULong = 85,
  MTLDataTypeBFloat = 121
};
typedef NSInteger MTLCaptureDestination;
enum { MTLCaptureDestinationDeveloperTools = 1, MTLCaptureDestinationGPUTraceDocument = 2 };

#ifdef __OBJC__
@protocol MTLDevice, MTLLibrary, MTLFunction, MTLCommandQueue, MTLCommandBuffer, MTLCommandEncoder, MTLComputeCommandEncoder,
    MTLBlitCommandEncoder, MTLBuffer, MTLComputePipelineState, MTLEvent, MTLSharedEvent, MTLFence, MTLHeap, MTLResource,
    MTLResidencySet, MTLCaptureScope, MTLTexture, MTLSamplerState, MTLIndirectCommandBuffer, MTLBinaryArchive, MTLAllocation,
    MTLArgumentEncoder, MTLLogState, MTLCounterSet, MTLCounterSampleBuffer, MTL4CommandQueue, MTL4CommandAllocator, MTL4CommandBuffer,
    MTL4ArgumentTable, MTL4Compiler;
@class MTLComputePassSampleBufferAttachmentDescriptorArray, MTLArgumentDescriptor, MTLLogStateDescriptor, MTLCounterSampleBufferDescriptor,
    MTL4CommandQueueDescriptor, MTL4CommandAllocatorDescriptor, MTL4ArgumentTableDescriptor, MTL4CompilerDescriptor;
typedef void (^MTLCommandBufferHandler)(id<MTLCommandBuffer> buffer);
typedef void (^MTLNewLibraryCompletionHandler)(id<MTLLibrary> library, NSError *error);
typedef void (^MTLNewComputePipelineStateCompletionHandler)(id<MTLComputePipelineState> pipeline, NSError *error);

@interface MTLCompileOptions : NSObject <NSCopying>
@property(copy) NSDictionary<NSString *, NSObject *> *preprocessorMacros;
@property BOOL fastMathEnabled, preserveInvariance, enableLogging;
@property MTLLanguageVersion languageVersion;
@property MTLMathMode mathMode;
@property MTLLibraryOptimizationLevel optimizationLevel;
@end
@interface MTLFunctionConstantValues : NSObject <NSCopying>
- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index;
- (void)setConstantValue:(const void *)value type:(MTLDataType)type withName:(NSString *)name;
- (void)setConstantValues:(const void *)values type:(MTLDataType)type withRange:(NSRange)range;
- (void)reset;
@end
@interface MTLFunctionDescriptor : NSObject <NSCopying>
+ (MTLFunctionDescriptor *)functionDescriptor;
@property(copy) NSString *name, *specializedName;
@property(copy) MTLFunctionConstantValues *constantValues;
@end
@interface MTLLinkedFunctions : NSObject <NSCopying>
+ (MTLLinkedFunctions *)linkedFunctions;
@property(copy) NSArray *functions, *privateFunctions;
@end
@interface MTLComputePipelineDescriptor : NSObject <NSCopying>
@property(copy) NSString *label;
@property(retain) id<MTLFunction> computeFunction;
@property(copy) MTLLinkedFunctions *linkedFunctions;
@property BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth, supportIndirectCommandBuffers;
@property NSUInteger maxTotalThreadsPerThreadgroup, maxCallStackDepth;
- (void)reset;
@end
@interface MTLComputePipelineReflection : NSObject
@end
typedef MTLComputePipelineReflection *MTLAutoreleasedComputePipelineReflection;
@interface MTLHeapDescriptor : NSObject <NSCopying>
@property NSUInteger size;
@property MTLStorageMode storageMode;
@property MTLCPUCacheMode cpuCacheMode;
@property MTLHazardTrackingMode hazardTrackingMode;
@property MTLResourceOptions resourceOptions;
@property MTLHeapType type;
@end
@interface MTLResidencySetDescriptor : NSObject <NSCopying>
@property(copy) NSString *label;
@property NSUInteger initialCapacity;
@end
@interface MTLCommandBufferDescriptor : NSObject <NSCopying>
@property BOOL retainedReferences;
@property(retain) id<MTLLogState> logState;
@property NSUInteger errorOptions;
@end
@interface MTLComputePassDescriptor : NSObject <NSCopying>
+ (MTLComputePassDescriptor *)computePassDescriptor;
@property MTLDispatchType dispatchType;
@property(readonly) MTLComputePassSampleBufferAttachmentDescriptorArray *sampleBufferAttachments;
@end
@interface MTLCommandQueueDescriptor : NSObject <NSCopying>
@property NSUInteger maxCommandBufferCount;
@property(retain) id<MTLLogState> logState;
@end
@interface MTLCaptureDescriptor : NSObject <NSCopying>
@property(retain) id captureObject;
@property MTLCaptureDestination destination;
@property(copy) NSURL *outputURL;
@end
@interface MTLCaptureManager : NSObject
+ (MTLCaptureManager *)sharedCaptureManager;
@property(readonly) BOOL isCapturing;
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device;
- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)queue;
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor error:(NSError **)error;
- (void)stopCapture;
- (BOOL)supportsDestination:(MTLCaptureDestination)destination;
@end
@interface MTLSharedEventListener : NSObject
+ (MTLSharedEventListener *)sharedListener;
- (instancetype)initWithDispatchQueue:(dispatch_queue_t)queue;
@end
@interface MTLArchitecture : NSObject
@property(readonly) NSString *name;
@end

@protocol MTLCaptureScope <NSObject>
@property(copy) NSString *label;
- (void)beginScope;
- (void)endScope;
@end
@protocol MTLAllocation <NSObject>
@property(readonly) NSUInteger allocatedSize;
@end
@protocol MTLResource <MTLAllocation>
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLStorageMode storageMode;
@property(readonly) MTLCPUCacheMode cpuCacheMode;
@property(readonly) MTLHazardTrackingMode hazardTrackingMode;
@property(readonly) MTLResourceOptions resourceOptions;
@property(readonly) id<MTLHeap> heap;
@property(readonly) NSUInteger heapOffset;
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state;
@end
#include <Metal/MTLTexture.h>
#include <Metal/MTLArgumentEncoder.h>
#include <Metal/MTLIndirectCommandBuffer.h>
@protocol MTLBuffer <MTLResource>
@property(readonly) NSUInteger length;
@property(readonly) void *contents;
@property(readonly) uint64_t gpuAddress;
- (void)didModifyRange:(NSRange)range;
- (id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor offset:(NSUInteger)offset bytesPerRow:(NSUInteger)row;
@end
@protocol MTLHeap <MTLAllocation>
@property(copy) NSString *label;
@property(readonly) NSUInteger size, usedSize, currentAllocatedSize;
@property(readonly) MTLHeapType type;
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state;
- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options offset:(NSUInteger)offset;
@end
@protocol MTLEvent <NSObject>
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
@end
@protocol MTLSharedEvent <MTLEvent>
@property uint64_t signaledValue;
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds;
- (void)notifyListener:(MTLSharedEventListener *)listener atValue:(uint64_t)value block:(void (^)(id<MTLSharedEvent>, uint64_t))block;
@end
@protocol MTLFence <NSObject>
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
@end
@protocol MTLResidencySet <NSObject>
@property(readonly) NSString *label;
@property(readonly) NSUInteger allocationCount;
@property(readonly) uint64_t allocatedSize;
- (void)addAllocation:(id<MTLAllocation>)member;
- (void)addAllocations:(const id<MTLAllocation> __unsafe_unretained *)members count:(NSUInteger)count;
- (void)removeAllocation:(id<MTLAllocation>)member;
- (void)removeAllAllocations;
- (BOOL)containsAllocation:(id<MTLAllocation>)member;
- (void)commit;
- (void)requestResidency;
- (void)endResidency;
@end
@protocol MTLFunction <NSObject>
@property(readonly) NSString *name;
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLFunctionType functionType;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index;
@end
@protocol MTLLibrary <NSObject>
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSArray<NSString *> *functionNames;
- (id<MTLFunction>)newFunctionWithName:(NSString *)name;
- (id<MTLFunction>)newFunctionWithName:(NSString *)name constantValues:(MTLFunctionConstantValues *)values error:(NSError **)error;
- (id<MTLFunction>)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor error:(NSError **)error;
@end
@protocol MTLComputePipelineState <NSObject>
@property(readonly) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup, threadExecutionWidth, staticThreadgroupMemoryLength;
@property(readonly) BOOL supportIndirectCommandBuffers;
@end
@protocol MTLCommandEncoder <NSObject>
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
- (void)endEncoding;
- (void)insertDebugSignpost:(NSString *)name;
- (void)pushDebugGroup:(NSString *)name;
- (void)popDebugGroup;
@end
@protocol MTLComputeCommandEncoder <MTLCommandEncoder>
@property(readonly) MTLDispatchType dispatchType;
- (void)setComputePipelineState:(id<MTLComputePipelineState>)pipeline;
- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBuffers:(const id<MTLBuffer> __unsafe_unretained *)buffers offsets:(const NSUInteger *)offsets withRange:(NSRange)range;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setTexture:(id<MTLTexture>)texture atIndex:(NSUInteger)index;
- (void)setSamplerState:(id<MTLSamplerState>)sampler atIndex:(NSUInteger)index;
- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)commands withRange:(NSRange)range;
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threadgroup;
- (void)dispatchThreads:(MTLSize)threads threadsPerThreadgroup:(MTLSize)threadgroup;
- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)buffer indirectBufferOffset:(NSUInteger)offset threadsPerThreadgroup:(MTLSize)threadgroup;
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope;
- (void)memoryBarrierWithResources:(const id<MTLResource> __unsafe_unretained *)resources count:(NSUInteger)count;
- (void)updateFence:(id<MTLFence>)fence;
- (void)waitForFence:(id<MTLFence>)fence;
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage;
- (void)useResources:(const id<MTLResource> __unsafe_unretained *)resources count:(NSUInteger)count usage:(MTLResourceUsage)usage;
- (void)useHeap:(id<MTLHeap>)heap;
@end
@protocol MTLBlitCommandEncoder <MTLCommandEncoder>
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value;
- (void)copyFromBuffer:(id<MTLBuffer>)from sourceOffset:(NSUInteger)at toBuffer:(id<MTLBuffer>)to destinationOffset:(NSUInteger)toAt size:(NSUInteger)size;
- (void)copyFromBuffer:(id<MTLBuffer>)from sourceOffset:(NSUInteger)at sourceBytesPerRow:(NSUInteger)row sourceBytesPerImage:(NSUInteger)image sourceSize:(MTLSize)size toTexture:(id<MTLTexture>)to destinationSlice:(NSUInteger)slice destinationLevel:(NSUInteger)level destinationOrigin:(MTLOrigin)origin;
- (void)copyFromTexture:(id<MTLTexture>)from sourceSlice:(NSUInteger)slice sourceLevel:(NSUInteger)level sourceOrigin:(MTLOrigin)origin sourceSize:(MTLSize)size toBuffer:(id<MTLBuffer>)to destinationOffset:(NSUInteger)at destinationBytesPerRow:(NSUInteger)row destinationBytesPerImage:(NSUInteger)image;
- (void)resetCommandsInBuffer:(id<MTLIndirectCommandBuffer>)commands withRange:(NSRange)range;
- (void)synchronizeResource:(id<MTLResource>)resource;
- (void)updateFence:(id<MTLFence>)fence;
- (void)waitForFence:(id<MTLFence>)fence;
@end
@protocol MTLCommandBuffer <NSObject>
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) id<MTLCommandQueue> commandQueue;
@property(readonly) BOOL retainedReferences;
@property(readonly) MTLCommandBufferStatus status;
@property(readonly) NSError *error;
@property(readonly) CFTimeInterval GPUStartTime, GPUEndTime, kernelStartTime, kernelEndTime;
- (void)enqueue;
- (void)commit;
- (void)waitUntilScheduled;
- (void)waitUntilCompleted;
- (void)addScheduledHandler:(MTLCommandBufferHandler)block;
- (void)addCompletedHandler:(MTLCommandBufferHandler)block;
- (id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type;
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:(MTLComputePassDescriptor *)descriptor;
- (id<MTLBlitCommandEncoder>)blitCommandEncoder;
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value;
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value;
- (void)useResidencySet:(id<MTLResidencySet>)set;
- (void)pushDebugGroup:(NSString *)name;
- (void)popDebugGroup;
@end
@protocol MTLCommandQueue <NSObject>
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
- (id<MTLCommandBuffer>)commandBuffer;
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences;
- (id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor *)descriptor;
- (void)insertDebugCaptureBoundary;
- (void)addResidencySet:(id<MTLResidencySet>)set;
- (void)removeResidencySet:(id<MTLResidencySet>)set;
@end
@protocol MTLDevice <NSObject>
@property(readonly) NSString *name;
@property(readonly) MTLArchitecture *architecture;
@property(readonly) uint64_t registryID, recommendedMaxWorkingSetSize;
@property(readonly) MTLDeviceLocation location;
@property(readonly) BOOL hasUnifiedMemory, supportsRaytracing;
@property(readonly, getter=isLowPower) BOOL lowPower;
@property(readonly, getter=isHeadless) BOOL headless;
@property(readonly, getter=isRemovable) BOOL removable;
@property(readonly) MTLSize maxThreadsPerThreadgroup;
@property(readonly) NSUInteger maxBufferLength, maxThreadgroupMemoryLength, currentAllocatedSize;
@property(readonly) NSUInteger readWriteTextureSupport, argumentBuffersSupport;
- (BOOL)supportsFamily:(MTLGPUFamily)family;
- (void)sampleTimestamps:(MTLTimestamp *)cpu gpuTimestamp:(MTLTimestamp *)gpu;
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLCommandQueue>)newCommandQueueWithDescriptor:(MTLCommandQueueDescriptor *)descriptor;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:(NSArray<MTLArgumentDescriptor *> *)arguments;
- (id<MTLLogState>)newLogStateWithDescriptor:(MTLLogStateDescriptor *)descriptor error:(NSError **)error;
@property(readonly) NSArray<id<MTLCounterSet>> *counterSets;
- (id<MTLCounterSampleBuffer>)newCounterSampleBufferWithDescriptor:(MTLCounterSampleBufferDescriptor *)descriptor error:(NSError **)error;
- (id<MTL4CommandQueue>)newMTL4CommandQueue;
- (id<MTL4CommandQueue>)newMTL4CommandQueueWithDescriptor:(MTL4CommandQueueDescriptor *)descriptor error:(NSError **)error;
- (id<MTL4CommandAllocator>)newCommandAllocator;
- (id<MTL4CommandBuffer>)newCommandBuffer;
- (id<MTL4ArgumentTable>)newArgumentTableWithDescriptor:(MTL4ArgumentTableDescriptor *)descriptor error:(NSError **)error;
- (id<MTL4Compiler>)newCompilerWithDescriptor:(MTL4CompilerDescriptor *)descriptor error:(NSError **)error;
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytes:(const void *)bytes length:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)bytes length:(NSUInteger)length options:(MTLResourceOptions)options deallocator:(void (^)(void *, NSUInteger))deallocator;
- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor *)descriptor;
- (id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor *)descriptor error:(NSError **)error;
- (id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor;
- (id<MTLSamplerState>)newSamplerStateWithDescriptor:(MTLSamplerDescriptor *)descriptor;
- (id<MTLIndirectCommandBuffer>)newIndirectCommandBufferWithDescriptor:(MTLIndirectCommandBufferDescriptor *)descriptor maxCommandCount:(NSUInteger)count options:(MTLResourceOptions)options;
- (id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor *)descriptor error:(NSError **)error;
- (id<MTLEvent>)newEvent;
- (id<MTLSharedEvent>)newSharedEvent;
- (id<MTLFence>)newFence;
- (id<MTLLibrary>)newDefaultLibrary;
- (id<MTLLibrary>)newDefaultLibraryWithBundle:(NSBundle *)bundle error:(NSError **)error;
- (id<MTLLibrary>)newLibraryWithSource:(NSString *)source options:(MTLCompileOptions *)options error:(NSError **)error;
- (void)newLibraryWithSource:(NSString *)source options:(MTLCompileOptions *)options completionHandler:(MTLNewLibraryCompletionHandler)block;
- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError **)error;
- (id<MTLLibrary>)newLibraryWithURL:(NSURL *)url error:(NSError **)error;
- (id<MTLLibrary>)newLibraryWithFile:(NSString *)path error:(NSError **)error;
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError **)error;
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)function completionHandler:(MTLNewComputePipelineStateCompletionHandler)block;
- (id<MTLComputePipelineState>)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor options:(MTLPipelineOption)options reflection:(MTLAutoreleasedComputePipelineReflection *)reflection error:(NSError **)error;
@end

OBJC_EXTERN id<MTLDevice> MTLCreateSystemDefaultDevice(void) NS_RETURNS_RETAINED;
OBJC_EXTERN NSArray<id<MTLDevice>> *MTLCopyAllDevices(void) NS_RETURNS_RETAINED;
#endif
#include <Metal/MTL4.h>
