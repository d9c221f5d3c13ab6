// A divergent loop: every thread searches for its own key.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void binary_search(device int *o [[buffer(0)]],
                          device const int *a [[buffer(1)]],
                          device const int *q [[buffer(2)]],
                          constant int &n [[buffer(3)]],
                          uint i [[thread_position_in_grid]]) {
    int lo = 0, hi = n, key = q[i];
    while (lo < hi) {
        int m = (lo + hi) >> 1;
        if (a[m] < key) lo = m + 1;
        else hi = m;
    }
    o[i] = lo;
}
