// Three loops with continue and break at different depths.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void nested_loops(device int *o [[buffer(0)]],
                         device const int *x [[buffer(1)]],
                         constant int &n [[buffer(2)]],
                         constant int &m [[buffer(3)]],
                         uint g [[thread_position_in_grid]]) {
    int i = int(g), s = 0;
    for (int a = 0; a < n; ++a) {
        for (int b = a; b < m; ++b) {
            int v = x[a * m + b];
            if (v < 0) continue;
            if (v == 1000) break;
            for (int c = 0; c < v; ++c) s += c ^ i;
        }
        if (s > 1000000) break;
    }
    o[i] = s;
}
