// Running sum of every row, of what the mask lets through.
#include <metal_stdlib>
using namespace metal;
#include "team.h"
#include "scan.h"

struct Load {
    device const float *x; device const float *mask;
    float operator()(uint i) const { return x[i] * mask[i]; }
};
struct Store {
    device float *y;
    void operator()(uint i, float before, float upto) const { y[i] = upto; }
};

kernel void masked_cumsum_f32(device const float *x [[buffer(0)]],
                              device const float *mask [[buffer(1)]],
                              device float *y [[buffer(2)]],
                              constant uint &cols [[buffer(3)]],
                              TEAM_PARAMETERS) {
    threadgroup float shared[32];
    uint start = group.y * cols;
    scan_row<Sums>(cols, index, extent.x, lane, simdgroup, simdgroups, shared,
                     Load{x + start, mask + start}, Store{y + start});
}
