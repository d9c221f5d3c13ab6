// Kullback-Leibler term of each element: t (log t - p), t = |target| + 1e-6, p = -|log prediction|.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct KlDivLoss {
    float operator()(float log_prediction, float target) const {
        float t = fabs(target) + 1e-6f;
        return t * (log(t) + fabs(log_prediction));
    }
};

kernel void kl_div_loss_f32(device const float *log_prediction [[buffer(0)]],
                            device const float *target [[buffer(1)]],
                            device float *y [[buffer(2)]],
                            constant uint &n [[buffer(3)]],
                            constant uint &grid_size [[buffer(4)]],
                            uint i [[thread_position_in_grid]]) {
    each_of_two(log_prediction, target, y, n, i, grid_size, KlDivLoss());
}
