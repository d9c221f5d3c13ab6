// Running product of every row.
#include <metal_stdlib>
using namespace metal;
#include "team.h"
#include "scan.h"

struct Load {
    device const float *x;
    float operator()(uint i) const { return x[i]; }
};
struct Store {
    device float *y;
    void operator()(uint i, float before, float upto) const { y[i] = upto; }
};

kernel void cumprod_f32(device const float *x [[buffer(0)]],
                        device float *y [[buffer(1)]],
                        constant uint &cols [[buffer(2)]],
                        TEAM_PARAMETERS) {
    threadgroup float shared[32];
    uint start = group.y * cols;
    scan_row<Products>(cols, index, extent.x, lane, simdgroup, simdgroups, shared,
                     Load{x + start}, Store{y + start});
}
