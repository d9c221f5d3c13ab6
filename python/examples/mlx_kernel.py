"""A custom kernel written for MLX, run and checked without a Mac: only the import differs."""

from __future__ import annotations

import numpy

from assay.mlx import metal_kernel  # instead of: from mlx.core.fast import metal_kernel

kernel = metal_kernel(
    name="swiglu",
    input_names=["gate", "up"],
    output_names=["out"],
    source="""
        uint i = thread_position_in_grid.x;
        float g = float(gate[i]);
        out[i] = T(g / (1.0f + metal::exp(-g)) * float(up[i]));
    """,
)


def swiglu(gate: numpy.ndarray, up: numpy.ndarray) -> numpy.ndarray:
    """``silu(gate) * up``."""
    outputs: list[numpy.ndarray] = kernel(
        inputs=[gate, up],
        template=[("T", gate.dtype)],
        grid=(gate.size, 1, 1),
        threadgroup=(256, 1, 1),
        output_shapes=[gate.shape],
        output_dtypes=[gate.dtype],
        check=True,
    )
    return outputs[0]


def main() -> None:
    """Compares with NumPy."""
    random = numpy.random.default_rng(0)
    gate, up = (random.standard_normal((8, 512)).astype(numpy.float16) for _ in range(2))
    exact = gate.astype(float) / (1 + numpy.exp(-gate.astype(float))) * up
    print("largest error:", float(numpy.abs(swiglu(gate, up) - exact).max()))


if __name__ == "__main__":
    main()
