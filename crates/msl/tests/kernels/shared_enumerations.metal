// Enumerations that host and kernels share, as Xcode's template writes them, and the types of <simd/simd.h>.
// kernels: k
#include <simd/simd.h>
#ifdef __METAL_VERSION__
#define NS_ENUM(_type, _name) enum _name : _type _name; enum _name : _type
typedef metal::int32_t EnumBackingType;
#endif
typedef NS_ENUM(EnumBackingType, Index) { IndexUniforms = 0, IndexPositions = 1 };
typedef struct { matrix_float4x4 transform; vector_float2 scale; simd_float3 offset; } Uniforms;
#include <metal_stdlib>
using namespace metal;
kernel void k(constant Uniforms &uniforms [[buffer(IndexUniforms)]], device float4 *positions [[buffer(IndexPositions)]],
              uint i [[thread_position_in_grid]]) {
    float4 moved = uniforms.transform * positions[i];
    moved.xyz += uniforms.offset;
    moved.xy *= uniforms.scale;
    positions[i] = moved;
}
