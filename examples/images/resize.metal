// A picture at another size, by linear filtering.
// assay: launch resize --size W=64 --size H=48 --grid W,H --threadgroup 16,8 --texture 0=random:rgba8Unorm:100x30 --texture 1=zeros:rgba8Unorm:WxH --sampler 0=linear,clamp_to_edge
#include <metal_stdlib>
using namespace metal;

kernel void resize(texture2d<half> source [[texture(0)]],
                   texture2d<half, access::write> target [[texture(1)]],
                   sampler smooth [[sampler(0)]],
                   uint2 at [[thread_position_in_grid]]) {
    uint2 size = uint2(target.get_width(), target.get_height());
    if (any(at >= size)) return;
    target.write(source.sample(smooth, (float2(at) + 0.5) / float2(size)), at);
}
