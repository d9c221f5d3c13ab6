// Argument encoders, logs of kernels, counters.
#pragma once
#include <Foundation/Foundation.h>

typedef NSUInteger MTLBindingAccess;
enum { MTLBindingAccessReadOnly = 0, MTLBindingAccessReadWrite = 1, MTLBindingAccessWriteOnly = 2 };
typedef NSInteger MTLLogLevel;
enum {
  MTLLogLevelUndefined = 0,
  MTLLogLevelDebug = 1,
  MTLLogLevelInfo = 2,
  MTLLogLevelNotice = 3,
  MTLLogLevelError = 4,
  MTLLogLevelFault = 5
};
#define MTLCounterErrorValue ((uint64_t)~0ull)
#define MTLCounterDontSample ((NSUInteger)-1)

#ifdef __OBJC__
@interface MTLArgumentDescriptor : NSObject <NSCopying>
+ (MTLArgumentDescriptor *)argumentDescriptor;
@property MTLDataType dataType;
@property NSUInteger index, arrayLength, constantBlockAlignment;
@property MTLBindingAccess access;
@property MTLTextureType textureType;
@end
@protocol MTLArgumentEncoder <NSObject>
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger encodedLength, alignment;
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset;
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer startOffset:(NSUInteger)start arrayElement:(NSUInteger)element;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBuffers:(const id<MTLBuffer> __unsafe_unretained *)buffers offsets:(const NSUInteger *)offsets withRange:(NSRange)range;
- (void)setTexture:(id<MTLTexture>)texture atIndex:(NSUInteger)index;
- (void)setTextures:(const id<MTLTexture> __unsafe_unretained *)textures withRange:(NSRange)range;
- (void)setSamplerState:(id<MTLSamplerState>)sampler atIndex:(NSUInteger)index;
- (void)setSamplerStates:(const id<MTLSamplerState> __unsafe_unretained *)samplers withRange:(NSRange)range;
- (void *)constantDataAtIndex:(NSUInteger)index;
@end
@interface MTLLogStateDescriptor : NSObject <NSCopying>
@property MTLLogLevel level;
@property NSInteger bufferSize;
@end
@protocol MTLLogState <NSObject>
- (void)addLogHandler:(void (^)(NSString *subsystem, NSString *category, MTLLogLevel level, NSString *message))block;
@end
@protocol MTLCounterSet <NSObject>
@property(readonly, copy) NSString *name;
@end
@interface MTLCounterSampleBufferDescriptor : NSObject <NSCopying>
@property(retain) id<MTLCounterSet> counterSet;
@property(copy) NSString *label;
@property NSUInteger storageMode, sampleCount;
@end
@protocol MTLCounterSampleBuffer <NSObject>
@property(readonly) NSUInteger sampleCount;
- (NSData *)resolveCounterRange:(NSRange)range;
@end
@interface MTLComputePassSampleBufferAttachmentDescriptor : NSObject <NSCopying>
@property(retain) id<MTLCounterSampleBuffer> sampleBuffer;
@property NSUInteger startOfEncoderSampleIndex, endOfEncoderSampleIndex;
@end
@interface MTLComputePassSampleBufferAttachmentDescriptorArray : NSObject
- (MTLComputePassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:(NSUInteger)index;
@end
#endif
