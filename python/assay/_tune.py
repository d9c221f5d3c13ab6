"""A kernel made faster by machine: recipes and knobs searched, every step proven, the gain told without luck."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _documents
from ._html import preformatted
from ._inputs import resolve
from ._launch import Launch
from ._launch import flags as launch_flags
from ._options import Constants, Defines, constant_flags, source_flags
from ._record import Record, table

if TYPE_CHECKING:
    from ._inputs import Code


class Tuning(Record):
    """What a search found. Times are modelled; ``claimed_gain`` is corrected for being the best of many attempts."""

    __slots__ = ()

    @property
    def improved(self) -> bool:
        """True if a faster kernel was found, and its gain survives correction."""
        return bool(self._data["improved"])

    @property
    def claimed_gain(self) -> float:
        """Time before over time after; the true gain is above it with four chances in five."""
        return float(self._data["claimed_gain"])

    @property
    def source(self) -> str:
        """Metal source of the faster kernel; empty if there is none."""
        return str(self._data["source"])

    @property
    def launch(self) -> str:
        """How the faster kernel is dispatched, as flags of ``assay run``."""
        return str(self._data["launch"])

    @property
    def recipes(self) -> tuple[str, ...]:
        """The recipes that made it, in order."""
        return tuple(self._data["recipes"])

    def to_pandas(self) -> Any:
        """Where the time goes before and after, as a pandas table."""
        return table(self._data["terms"])

    def __str__(self) -> str:
        if not self.improved:
            return f"{self.kernel} on {self.chip}: {self.reason}"
        steps = ", ".join(self.recipes) or "knobs alone"
        return f"{self.kernel} on {self.chip}: {self.claimed_gain:.2f} times as fast (modelled), class {self._data['class']}, by {steps}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        return preformatted(f"{self}\n\n{self.source}")


def tune(
    code: Code,
    function: str | None = None,
    chip: str = "m2",
    launch: Launch | None = None,
    *,
    evaluations: int = 150,
    budget: float = 300.0,
    seed: int = 1,
    oracle: str | None = None,
    tolerance: float | None = None,
    knobs: Mapping[str, Iterable[Any]] | None = None,
    restrict: Iterable[str] = (),
    only: str | None = None,
    attempts: str | os.PathLike[str] | None = None,
    resume: bool = False,
    defines: Defines = None,
    include: Iterable[str | os.PathLike[str]] = (),
    std: str | None = None,
    fast_math: bool = True,
    constants: Constants = None,
) -> Tuning:
    """Searches recipes and knobs for a faster kernel that computes the same.

    ``code`` and ``launch`` are as for :func:`assay.profile`; sizes in the launch are formulas, so that the result is proven at
    other sizes too. ``budget`` is in seconds. ``attempts`` is the database of everything that was tried.

    >>> import assay, tempfile
    >>> found = assay.tune(
    ...     "kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }",
    ...     launch={"sizes": {"N": 65536}, "grid": "N", "threadgroup": 256, "buffers": {0: "random:f32:N"}},
    ...     evaluations=2, attempts=tempfile.mkdtemp() + "/attempts.db",
    ... )
    >>> found.improved, found.claimed_gain
    (False, 1.0)
    """
    given = resolve(code)
    words, files = launch_flags(launch)
    arguments = ["tune", given.path, "--chip", chip, *given.flags, *words]
    arguments += ["--evaluations", str(evaluations), "--budget", f"{budget}s", "--seed", str(seed)]
    arguments += source_flags(defines, include, std, fast_math) + constant_flags(constants)
    function = function or given.function
    options = {"-f": function, "--oracle": oracle, "--only": only, "--tolerance": tolerance, "--attempts": attempts}
    for flag, value in options.items():
        if value is not None:
            arguments += [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    for name, values in (knobs or {}).items():
        arguments += ["--knob", f"{name}={','.join(str(value) for value in values)}"]
    for formula in restrict:
        arguments += ["--restrict", formula]
    if resume:
        arguments += ["--resume"]
    return Tuning(_documents.document(arguments, given.inputs + files))
