// A Gaussian blur of five by five texels, with the edge repeated by the sampler.
// assay: launch blur --size W=64 --size H=48 --grid W,H --threadgroup 16,8 --texture 0=random:rgba8Unorm:WxH --texture 1=zeros:rgba8Unorm:WxH
#include <metal_stdlib>
using namespace metal;

kernel void blur(texture2d<float> source [[texture(0)]],
                 texture2d<float, access::write> target [[texture(1)]],
                 uint2 at [[thread_position_in_grid]]) {
    constexpr sampler pixels(coord::pixel, filter::nearest, address::clamp_to_edge);
    if (at.x >= target.get_width() || at.y >= target.get_height()) return;
    const float weights[5] = {1.0, 4.0, 6.0, 4.0, 1.0};
    float4 sum = 0;
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 5; x++)
            sum += weights[x] * weights[y] * source.sample(pixels, float2(at) + float2(x - 2, y - 2) + 0.5);
    target.write(sum / 256.0, at);
}
