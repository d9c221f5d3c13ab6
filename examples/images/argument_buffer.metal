// A struct with everything an argument buffer can hold: a texture, a sampler, pointers, and structs with pointers of their own.
// assay: launch weigh --grid 4 --threadgroup 4 --argument 0.source=random:rgba8Unorm:16x16 --argument 0.smooth=linear,repeat --argument 0.layers[1].weights=iota:f32:4 --argument 0.layers[1].scale=f32:0.5 --argument 0.sums=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

struct Layer {
    device const float *weights [[id(0)]];
    float scale [[id(1)]];
};
struct Arguments {
    texture2d<float> source [[id(0)]];
    sampler smooth [[id(1)]];
    Layer layers[2] [[id(2)]];
    device float *sums [[id(6)]];
};

kernel void weigh(constant Arguments &arguments [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float4 colour = arguments.source.sample(arguments.smooth, float2(0.25 * float(i), 0.5));
    constant Layer &layer = arguments.layers[1];
    arguments.sums[i] = layer.weights[i] * layer.scale + colour.x;
}
