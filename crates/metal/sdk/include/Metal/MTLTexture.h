// Textures and samplers.
#pragma once
#include <Foundation/Foundation.h>

static inline MTLOrigin MTLOriginMake(NSUInteger x, NSUInteger y, NSUInteger z) {
  MTLOrigin origin = {x, y, z};
  return origin;
}
static inline MTLRegion MTLRegionMake2D(NSUInteger x, NSUInteger y, NSUInteger width, NSUInteger height) {
  MTLRegion region = {{x, y, 0}, {width, height, 1}};
  return region;
}
static inline MTLRegion MTLRegionMake3D(NSUInteger x, NSUInteger y, NSUInteger z, NSUInteger width, NSUInteger height, NSUInteger depth) {
  MTLRegion region = {{x, y, z}, {width, height, depth}};
  return region;
}
typedef NSUInteger MTLPixelFormat;
enum {
  MTLPixelFormatInvalid = 0,
  MTLPixelFormatR8Unorm = 10,
  MTLPixelFormatR16Float = 25,
  MTLPixelFormatR32Uint = 53,
  MTLPixelFormatR32Sint = 54,
  MTLPixelFormatR32Float = 55,
  MTLPixelFormatRGBA8Unorm = 70,
  MTLPixelFormatRGBA8Uint = 73,
  MTLPixelFormatBGRA8Unorm = 80,
  MTLPixelFormatRG32Float = 105,
  MTLPixelFormatRGBA16Float = 115,
  MTLPixelFormatRGBA32Uint = 123,
  MTLPixelFormatRGBA32Float = 125,
  MTLPixelFormatDepth32Float = 252
};
typedef NSUInteger MTLTextureType;
enum {
  MTLTextureType1D,
  MTLTextureType1DArray,
  MTLTextureType2D,
  MTLTextureType2DArray,
  MTLTextureType2DMultisample,
  MTLTextureTypeCube,
  MTLTextureTypeCubeArray,
  MTLTextureType3D,
  MTLTextureType2DMultisampleArray,
  MTLTextureTypeTextureBuffer
};
typedef NSUInteger MTLTextureUsage;
enum { MTLTextureUsageUnknown = 0, MTLTextureUsageShaderRead = 1, MTLTextureUsageShaderWrite = 2, MTLTextureUsageRenderTarget = 4 };
typedef NSUInteger MTLSamplerMinMagFilter;
enum { MTLSamplerMinMagFilterNearest, MTLSamplerMinMagFilterLinear };
typedef NSUInteger MTLSamplerMipFilter;
enum { MTLSamplerMipFilterNotMipmapped, MTLSamplerMipFilterNearest, MTLSamplerMipFilterLinear };
typedef NSUInteger MTLSamplerAddressMode;
enum {
  MTLSamplerAddressModeClampToEdge,
  MTLSamplerAddressModeMirrorClampToEdge,
  MTLSamplerAddressModeRepeat,
  MTLSamplerAddressModeMirrorRepeat,
  MTLSamplerAddressModeClampToZero,
  MTLSamplerAddressModeClampToBorderColor
};

#ifdef __OBJC__
@interface MTLTextureDescriptor : NSObject <NSCopying>
+ (MTLTextureDescriptor *)texture2DDescriptorWithPixelFormat:(MTLPixelFormat)format width:(NSUInteger)width height:(NSUInteger)height mipmapped:(BOOL)mipmapped;
+ (MTLTextureDescriptor *)textureCubeDescriptorWithPixelFormat:(MTLPixelFormat)format size:(NSUInteger)size mipmapped:(BOOL)mipmapped;
+ (MTLTextureDescriptor *)textureBufferDescriptorWithPixelFormat:(MTLPixelFormat)format width:(NSUInteger)width resourceOptions:(MTLResourceOptions)options usage:(MTLTextureUsage)usage;
@property MTLTextureType textureType;
@property MTLPixelFormat pixelFormat;
@property NSUInteger width, height, depth, mipmapLevelCount, sampleCount, arrayLength;
@property MTLResourceOptions resourceOptions;
@property MTLStorageMode storageMode;
@property MTLTextureUsage usage;
@end
@interface MTLSamplerDescriptor : NSObject <NSCopying>
@property(copy) NSString *label;
@property MTLSamplerMinMagFilter minFilter, magFilter;
@property MTLSamplerMipFilter mipFilter;
@property NSUInteger maxAnisotropy;
@property MTLSamplerAddressMode sAddressMode, tAddressMode, rAddressMode;
@property BOOL normalizedCoordinates, supportArgumentBuffers;
@property float lodMinClamp, lodMaxClamp;
@end
@protocol MTLTexture <MTLResource>
@property(readonly) MTLTextureType textureType;
@property(readonly) MTLPixelFormat pixelFormat;
@property(readonly) NSUInteger width, height, depth, mipmapLevelCount, sampleCount, arrayLength;
@property(readonly) MTLTextureUsage usage;
@property(readonly) MTLResourceID gpuResourceID;
@property(readonly) id<MTLBuffer> buffer;
@property(readonly) NSUInteger bufferOffset, bufferBytesPerRow;
- (void)replaceRegion:(MTLRegion)region mipmapLevel:(NSUInteger)level withBytes:(const void *)bytes bytesPerRow:(NSUInteger)row;
- (void)replaceRegion:(MTLRegion)region mipmapLevel:(NSUInteger)level slice:(NSUInteger)slice withBytes:(const void *)bytes bytesPerRow:(NSUInteger)row bytesPerImage:(NSUInteger)image;
- (void)getBytes:(void *)bytes bytesPerRow:(NSUInteger)row fromRegion:(MTLRegion)region mipmapLevel:(NSUInteger)level;
- (void)getBytes:(void *)bytes bytesPerRow:(NSUInteger)row bytesPerImage:(NSUInteger)image fromRegion:(MTLRegion)region mipmapLevel:(NSUInteger)level slice:(NSUInteger)slice;
- (id<MTLTexture>)newTextureViewWithPixelFormat:(MTLPixelFormat)format;
@end
@protocol MTLSamplerState <NSObject>
@property(readonly) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLResourceID gpuResourceID;
@end
#endif
