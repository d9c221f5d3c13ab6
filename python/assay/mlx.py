"""MLX's custom kernels on any machine: ``from assay.mlx import metal_kernel`` instead of ``mlx.core.fast``.

The signature, the generated source and the rules of a call are those of ``mlx.core.fast.metal_kernel``. Kernels run on
this CPU with the arithmetic of Apple GPUs, and can be checked and profiled. Inputs are NumPy or MLX arrays; results are
MLX arrays if an input is one, else NumPy's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from . import _mlx_source
from ._arrays import as_array, dtype_named
from ._errors import UsageError
from ._library import Kernel, Library, Run, compile, describe, triple
from ._mlx_source import Input, Signature, dtype_name, template_argument

if TYPE_CHECKING:
    from ._predict import Prediction
    from ._profile import Profile

__all__ = ["MetalKernel", "metal_kernel"]


def metal_kernel(
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    header: str = "",
    ensure_row_contiguous: bool = True,
    atomic_outputs: bool = False,
    compile_options: Mapping[str, Any] | None = None,
) -> MetalKernel:
    """A custom Metal kernel defined by the body of a function.

    >>> import numpy
    >>> from assay.mlx import metal_kernel
    >>> kernel = metal_kernel(
    ...     name="myexp",
    ...     input_names=["inp"],
    ...     output_names=["out"],
    ...     source="uint elem = thread_position_in_grid.x; T tmp = inp[elem]; out[elem] = metal::exp(tmp);",
    ... )
    >>> a = numpy.zeros((4, 16), numpy.float16)
    >>> out = kernel(
    ...     inputs=[a], template=[("T", numpy.float32)], grid=(a.size, 1, 1), threadgroup=(256, 1, 1),
    ...     output_shapes=[a.shape], output_dtypes=[a.dtype],
    ... )[0]
    >>> out.shape, out.dtype, out[0, 0].item()
    ((4, 16), dtype('float16'), 1.0)
    """
    if not output_names:
        raise UsageError("[metal_kernel] Must specify at least one output.")
    return MetalKernel(
        name, list(input_names), list(output_names), source, header, ensure_row_contiguous, atomic_outputs, compile_options
    )


class MetalKernel:
    """What :func:`metal_kernel` returns: called with arrays, it compiles for their types once and runs."""

    def __init__(
        self,
        name: str,
        input_names: list[str],
        output_names: list[str],
        source: str,
        header: str,
        ensure_row_contiguous: bool,
        atomic_outputs: bool,
        compile_options: Mapping[str, Any] | None,
    ):
        self.name = name
        self.source = source
        self.header = header
        self.input_names = input_names
        self.output_names = output_names
        self._contiguous = ensure_row_contiguous
        self._atomic = atomic_outputs
        unknown = [key for key in compile_options or {} if key != "math_mode"]
        if unknown:
            raise UsageError(f"[metal_kernel] there is no compile option {unknown[0]!r}", "there is math_mode")
        mode = (compile_options or {}).get("math_mode", "safe")
        if mode not in ("safe", "relaxed", "fast"):
            raise UsageError(f"[metal_kernel] math_mode {mode!r} does not exist", "safe, relaxed or fast")
        self._fast_math = mode != "safe"
        self._libraries: dict[str, tuple[Signature, Library]] = {}
        #: The last call, with its findings and counts.
        self.last_run: Run | None = None

    def __call__(
        self,
        *,
        inputs: Sequence[Any],
        output_shapes: Sequence[Sequence[int]],
        output_dtypes: Sequence[Any],
        grid: Sequence[int],
        threadgroup: Sequence[int],
        template: Sequence[tuple[str, Any]] | None = None,
        init_value: float | None = None,
        verbose: bool = False,
        stream: Any = None,
        check: bool | str = False,
        counts: bool = False,
    ) -> list[Any]:
        """Runs the kernel and returns its outputs. ``check`` and ``counts`` are as for :class:`assay.Kernel`; what they
        found is in ``last_run``. Outputs without ``init_value`` are zeros before the run."""
        arrays = self._arrays(inputs)
        dtypes = self._dtypes(output_shapes, output_dtypes)
        signature, library = self._compiled(arrays, dtypes, template)
        if verbose:
            print(f"Generated source code for `{self.name}`:\n```\n{signature.source}\n```")
        outputs = [numpy.full(shape, init_value or 0, dtype_named(dtype)) for shape, dtype in zip(output_shapes, dtypes)]
        bound = self._bound(signature, arrays, outputs)
        group = _threadgroup(grid, threadgroup)
        kernel = library.kernel(signature.name)
        pairs = [(slot, bound[slot.index]) for slot in kernel.slots]
        self.last_run = kernel.dispatch(pairs, (triple("grid", grid), False, group), [], check, counts)
        if any(type(one).__module__.startswith("mlx.") for one in inputs):
            return [_to_mlx(one, dtype) for one, dtype in zip(outputs, dtypes)]
        return list(outputs)

    def metal(self, *, inputs: Sequence[Any], output_dtypes: Sequence[Any], template: Sequence[tuple[str, Any]] | None = None) -> str:
        """The source that is compiled for these inputs."""
        dtypes = [dtype_name(one) for one in output_dtypes]
        return self._compiled(self._arrays(inputs), dtypes, template)[0].source

    def profile(self, *, chip: str = "m2", **call: Any) -> Profile:
        """What the kernel costs, and its predicted time, for a call given as to the kernel itself."""
        kernel, launch = self._launch(**call)
        return kernel.profile(chip, launch)

    def predict(self, *, chip: Any = "m2", **call: Any) -> Prediction:
        """The predicted GPU time of a call given as to the kernel itself."""
        from ._predict import predict

        kernel, launch = self._launch(**call)
        return predict(kernel, chip=chip, launch=launch)

    def _launch(
        self,
        *,
        inputs: Sequence[Any],
        output_shapes: Sequence[Sequence[int]],
        output_dtypes: Sequence[Any],
        grid: Sequence[int],
        threadgroup: Sequence[int],
        template: Sequence[tuple[str, Any]] | None = None,
        init_value: float | None = None,
    ) -> tuple[Kernel, dict[str, Any]]:
        arrays = self._arrays(inputs)
        dtypes = self._dtypes(output_shapes, output_dtypes)
        signature, library = self._compiled(arrays, dtypes, template)
        outputs = [numpy.full(shape, init_value or 0, dtype_named(dtype)) for shape, dtype in zip(output_shapes, dtypes)]
        kernel = library.kernel(signature.name)
        bound = self._bound(signature, arrays, outputs)
        pairs = [(slot, bound[slot.index]) for slot in kernel.slots]
        geometry = (triple("grid", grid), False, _threadgroup(grid, threadgroup))
        return kernel, describe(pairs, geometry, [])

    def _arrays(self, inputs: Sequence[Any]) -> list[tuple[Any, str]]:
        """The inputs as arrays with the names of their types."""
        if len(inputs) != len(self.input_names):
            raise UsageError(f"[metal_kernel] Expected `inputs` to have size {len(self.input_names)} but got size {len(inputs)}.")
        arrays = []
        for value in inputs:
            if isinstance(value, (bool, int, float)):
                kind = "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
                arrays.append((numpy.asarray(value, kind), kind))
                continue
            array = value if isinstance(value, numpy.ndarray) else as_array(value)
            name = dtype_name(getattr(value, "dtype", array.dtype))
            if self._contiguous or any(stride < 0 for stride in array.strides):
                array = numpy.ascontiguousarray(array).reshape(array.shape)
            arrays.append((array, name))
        return arrays

    def _dtypes(self, shapes: Sequence[Any], dtypes: Sequence[Any]) -> list[str]:
        for what, given in (("output_shapes", shapes), ("output_dtypes", dtypes)):
            if len(given) != len(self.output_names):
                raise UsageError(
                    f"[metal_kernel] Expected `{what}` to have size {len(self.output_names)} but got size {len(given)}."
                )
        return [dtype_name(one) for one in dtypes]

    def _compiled(
        self, arrays: list[tuple[Any, str]], dtypes: list[str], template: Sequence[tuple[str, Any]] | None
    ) -> tuple[Signature, Library]:
        described = [Input(name, dtype, array.ndim, array.size) for name, (array, dtype) in zip(self.input_names, arrays)]
        signature = _mlx_source.signature(
            self.name,
            self.source,
            self.header,
            described,
            list(zip(self.output_names, dtypes)),
            [template_argument(name, value) for name, value in template or ()],
            self._atomic,
        )
        if signature.name not in self._libraries:
            # Faults and errors name lines of the body, counted from 1.
            marked = f'{{\n#line 1 "{self.name}.metal"\n{self.source}\n}}'
            text = _mlx_source.utilities() + signature.source.replace(f"{{\n{self.source}\n}}", marked, 1)
            self._libraries[signature.name] = signature, compile(text, fast_math=self._fast_math)
        return self._libraries[signature.name]

    def _bound(self, signature: Signature, arrays: list[tuple[Any, str]], outputs: list[Any]) -> list[Any]:
        """What is bound to each index."""
        known = {name: array for name, (array, _) in zip(self.input_names, arrays)}
        known.update(zip(self.output_names, outputs))
        return [_part(known[name], what) for name, what in signature.arguments]


def _threadgroup(grid: Sequence[int], threadgroup: Sequence[int]) -> tuple[int, int, int]:
    """The threads of a threadgroup: no more than the grid has in a direction."""
    sizes = [min(own, whole) for own, whole in zip(triple("threadgroup", threadgroup), triple("grid", grid))]
    return sizes[0], sizes[1], sizes[2]


def _part(array: Any, what: str) -> Any:
    if what == "data":
        return _span(array)
    if what == "ndim":
        return array.ndim
    if what == "shape":
        return numpy.asarray(array.shape, numpy.int32)
    return numpy.asarray([stride // array.itemsize for stride in array.strides], numpy.int64)


def _span(array: Any) -> Any:
    """The memory an array lies in, from its first element to its last, as a row."""
    if array.flags.forc or array.size == 0:
        return array
    last = sum((extent - 1) * stride for extent, stride in zip(array.shape, array.strides))
    return numpy.lib.stride_tricks.as_strided(array, (last // array.itemsize + 1,), (array.itemsize,))


def _to_mlx(array: Any, dtype: str) -> Any:
    import mlx.core as mx

    if dtype == "bfloat16":
        return mx.array(array.view(numpy.uint16)).view(mx.bfloat16)
    return mx.array(array)
