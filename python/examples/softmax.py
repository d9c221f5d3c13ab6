"""Is a softmax right, what does it cost, how long will it take? Runs on any machine."""

from __future__ import annotations

import numpy

import assay

SOURCE = """
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device float* out, device const float* x, constant uint& n,
                    uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    float most = -INFINITY;
    for (uint i = lane; i < n; i += 32) most = max(most, x[row * n + i]);
    most = simd_max(most);
    float sum = 0;
    for (uint i = lane; i < n; i += 32) sum += exp(x[row * n + i] - most);
    sum = simd_sum(sum);
    for (uint i = lane; i < n; i += 32) out[row * n + i] = exp(x[row * n + i] - most) / sum;
}
"""


def reference(x: numpy.ndarray) -> numpy.ndarray:
    """The same in NumPy."""
    exponentials = numpy.exp(x - x.max(axis=1, keepdims=True))
    result: numpy.ndarray = exponentials / exponentials.sum(axis=1, keepdims=True)
    return result


def main() -> None:
    """Runs, checks, profiles, predicts."""
    kernel = assay.compile(SOURCE).kernel()
    x = numpy.random.default_rng(0).standard_normal((64, 1000)).astype(numpy.float32)
    run = kernel(assay.out(x.shape), x, x.shape[1], groups=len(x), threadgroup=32, check=True, counts=True)
    print("largest error:", float(numpy.abs(run["out"] - reference(x)).max()))
    assert run.counts is not None
    print("bytes loaded:", run.counts.device.bytes_loaded)
    profile = kernel.profile()
    print(profile.verdict)
    for finding in profile.findings:
        print(finding.severity, finding.rule, "-", finding.message)
    for prediction in kernel.predict(assay.out(x.shape), x, x.shape[1], groups=len(x), threadgroup=32, chip=["m1", "m2-max"]).chips:
        print(f"{prediction.chip}: {prediction.time_us:.1f} µs (modelled), limited by {prediction.limited_by}")


if __name__ == "__main__":
    main()
