// Kinetic energy of particles; only two of eight floats of each structure are used.
#include <metal_stdlib>
using namespace metal;

struct Particle { float x, y, z, mass, vx, vy, vz, charge; };

kernel void kinetic(device float *energy, device const Particle *particles, constant float &scale,
                    uint i [[thread_position_in_grid]]) {
    float speed = particles[i].vx; // fault: scattered-access
    energy[i] = scale * speed * speed;
}

// assay: launch kinetic --size N=2097152 --grid N --threadgroup 256 --arg energy=zeros:f32:N --arg particles=random:f32:N*8 --arg scale=0.5
