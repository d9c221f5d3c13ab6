// An iteration per pixel in blocks of 4 × 3. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void mandel(device uint *turns, constant uint &width, uint2 at [[thread_position_in_grid]]) {
    float2 c = float2(at) / float(width) * 3.0f - float2(2.0f, 1.5f), z = 0;
    uint n = 0;
    for (; n < 32; n++) z = float2(z.x * z.x - z.y * z.y, 2.0f * z.x * z.y) * 0.5f + c * 0.1f;
    turns[at.y * width + at.x] = n + uint(z.x);
}

// assay: launch mandel --size W=768 --grid W,W --threadgroup 32,4 --arg turns=zeros:u32:W*W --arg width=W
