// Colours as brightness and two differences (BT.709), the differences at half the size in a texture of two components.
// assay: launch yuv --size W=64 --size H=48 --grid W/2,H/2 --threadgroup 16,8 --texture 0=random:rgba8Unorm:WxH --texture 1=zeros:r8Unorm:WxH --texture 2=zeros:rg8Unorm:W/2xH/2
#include <metal_stdlib>
using namespace metal;

kernel void yuv(texture2d<float, access::read> colour [[texture(0)]],
                texture2d<float, access::write> brightness [[texture(1)]],
                texture2d<float, access::write> differences [[texture(2)]],
                uint2 at [[thread_position_in_grid]]) {
    float2 sum = 0;
    for (uint part = 0; part < 4; part++) {
        uint2 place = at * 2 + uint2(part & 1, part >> 1);
        float3 rgb = colour.read(place).rgb;
        float y = dot(rgb, float3(0.2126, 0.7152, 0.0722));
        brightness.write(float4(y), place);
        sum += float2(rgb.b - y, rgb.r - y) / float2(1.8556, 1.5748);
    }
    differences.write(float4(sum / 4 + 0.5, 0, 1), at);
}
