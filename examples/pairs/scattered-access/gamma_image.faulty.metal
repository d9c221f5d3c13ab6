// Brightness of an image; the thread's x selects the row.
#include <metal_stdlib>
using namespace metal;

kernel void gamma_correct(device float *out, device const float *image, constant uint &width, constant float &gain,
                          uint2 at [[thread_position_in_grid]]) {
    uint place = at.x * width + at.y;
    out[place] = sqrt(image[place] * gain);  // fault: scattered-access
}

// assay: launch gamma_correct --size W=1024 --grid W,W --threadgroup 256,1 --arg out=zeros:f32:W*W --arg image=random:f32:W*W --arg width=W --arg gain=1.5
