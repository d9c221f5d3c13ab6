"""Metal compute kernels for Apple GPUs: what they cost, whether they are right, how long they take.

Everything but a GPU's clock works on any machine. What this package does is what the program ``assay`` does; the program
comes with it.

>>> import assay
>>> kernel = assay.compile('''
... kernel void scale(device float* x, constant float& by, uint i [[thread_position_in_grid]]) { x[i] *= by; }
... ''').scale
>>> import numpy
>>> x = numpy.arange(4, dtype=numpy.float32)
>>> run = kernel(x, 2.0, grid=4)
>>> x
array([0., 2., 4., 6.], dtype=float32)

Names are loaded when they are first used, so importing this package costs little.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import metal_profiler, mlx, timing, trace
    from ._bench import Bench, BenchRow, bench
    from ._chips import Chip, chips, explain
    from ._code import Disassembly, Program, assemble, disasm
    from ._diff import Diff, diff
    from ._errors import (
        AssayError,
        CheckFailed,
        InputError,
        InterruptedRun,
        KernelFault,
        MissingError,
        SourceError,
        UsageError,
        VerdictError,
    )
    from ._inspect import Inspection, inspect
    from ._library import Argument, Kernel, Library, Run, compile, load, out
    from ._native import __version__
    from ._predict import Prediction, predict
    from ._profile import Profile, profile, profiles
    from ._record import Record
    from ._tune import Tuning, tune

_PLACES = {
    "_bench": ("Bench", "BenchRow", "bench"),
    "_chips": ("Chip", "chips", "explain"),
    "_code": ("Disassembly", "Program", "assemble", "disasm"),
    "_diff": ("Diff", "diff"),
    "_errors": (
        "AssayError",
        "CheckFailed",
        "InputError",
        "InterruptedRun",
        "KernelFault",
        "MissingError",
        "SourceError",
        "UsageError",
        "VerdictError",
    ),
    "_inspect": ("Inspection", "inspect"),
    "_library": ("Argument", "Kernel", "Library", "Run", "compile", "load", "out"),
    "_native": ("__version__",),
    "_predict": ("Prediction", "predict"),
    "_profile": ("Profile", "profile", "profiles"),
    "_record": ("Record",),
    "_tune": ("Tuning", "tune"),
}
_MODULES = ("metal_profiler", "mlx", "timing", "trace")
_HOME = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "Argument",
    "AssayError",
    "Bench",
    "BenchRow",
    "CheckFailed",
    "Chip",
    "Diff",
    "Disassembly",
    "InputError",
    "Inspection",
    "InterruptedRun",
    "Kernel",
    "KernelFault",
    "Library",
    "MissingError",
    "Prediction",
    "Profile",
    "Program",
    "Record",
    "Run",
    "SourceError",
    "Tuning",
    "UsageError",
    "VerdictError",
    "__version__",
    "assemble",
    "bench",
    "chips",
    "compile",
    "diff",
    "disasm",
    "explain",
    "inspect",
    "load",
    "metal_profiler",
    "mlx",
    "out",
    "predict",
    "profile",
    "profiles",
    "timing",
    "trace",
    "tune",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
