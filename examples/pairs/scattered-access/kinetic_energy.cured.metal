// Kinetic energy of particles; only two of eight floats of each structure are used. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void kinetic(device float *energy, device const float *vx, constant float &scale,
                    uint i [[thread_position_in_grid]]) {
    float speed = vx[i];
    energy[i] = scale * speed * speed;
}

// assay: launch kinetic --size N=2097152 --grid N --threadgroup 256 --arg energy=zeros:f32:N --arg vx=random:f32:N --arg scale=0.5
