"""How long a kernel will take on a GPU that is not here."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _documents, _native
from ._errors import InputError
from ._html import frame
from ._inputs import resolve
from ._launch import Launch
from ._launch import pairs as launch_pairs
from ._options import Constants, Defines, constant_flags, source_flags
from ._record import Record, table

if TYPE_CHECKING:
    from ._inputs import Code


class Prediction(Record):
    """The predicted GPU time of a kernel on a chip, modelled: four of five kernels of its class lie in the band.

    >>> import assay
    >>> p = assay.predict(
    ...     "kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }",
    ...     launch={"grid": 1 << 24, "threadgroup": 256},
    ... )
    >>> p.low_us < p.time_us < p.high_us, p.limited_by
    (True, 'DRAM bandwidth')
    """

    __slots__ = ("_arguments", "_inputs", "_all")

    def __init__(self, data: dict[str, Any], arguments: list[str], inputs: list[tuple[str, bytes]], all_chips: list[Any]):
        super().__init__(data)
        self._arguments = arguments
        self._inputs = inputs
        self._all = all_chips

    @property
    def kernel(self) -> str:
        """The kernel."""
        return str(self._data["kernel"])

    @property
    def chip(self) -> str:
        """The chip."""
        return str(self._data["chip"])

    @property
    def time_us(self) -> float:
        """Microseconds, modelled."""
        return float(self._data["time_us"])

    @property
    def low_us(self) -> float:
        """The lower end of the band."""
        return float(self._data["low_us"])

    @property
    def high_us(self) -> float:
        """The upper end of the band."""
        return float(self._data["high_us"])

    @property
    def limited_by(self) -> str:
        """What the time is mostly spent on."""
        return str(self._data["limited_by"])

    @property
    def terms(self) -> dict[str, float]:
        """Microseconds by what they are spent on."""
        return {term["name"]: term["us"] for term in self._data["terms"]}

    @property
    def chips(self) -> tuple[Prediction, ...]:
        """The predictions of all chips that were asked for."""
        return tuple(Prediction(one, self._arguments, self._inputs, self._all) for one in self._all)

    def to_pandas(self) -> Any:
        """The predictions of all chips as a pandas table."""
        names = ("kernel", "chip", "time_us", "low_us", "high_us", "class", "limited_by")
        return table([{name: one[name] for name in names} for one in self._all])

    def text(self) -> str:
        """The prediction as ``assay predict`` prints it."""
        return _documents.text(self._arguments, self._inputs)

    def html(self) -> str:
        """The prediction as a page of its own."""
        return _documents.text([*self._arguments, "--format", "html"], self._inputs)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{self.kernel} on {self.chip}: {self.time_us:g} µs ({self.low_us:g} to {self.high_us:g}), limited by {self.limited_by}>"

    def _repr_html_(self) -> str:
        return frame(self.html(), 520)


def predict(
    code: Code,
    function: str | None = None,
    chip: str | Iterable[str] = "m2",
    launch: Launch | None = None,
    *,
    cold: bool = False,
    what_if: dict[str, float] | None = None,
    repeat: int = 1,
    defines: Defines = None,
    include: Iterable[str | os.PathLike[str]] = (),
    std: str | None = None,
    fast_math: bool = True,
    constants: Constants = None,
) -> Prediction:
    """Predicts the GPU time of a kernel by executing a sample of its threadgroups and replaying it on a model of the chip.

    ``code`` and ``launch`` are as for :func:`assay.profile`; several chips may be named, the result is that of the first and
    ``.chips`` has all.
    """
    given = resolve(code)
    parts, files = launch_pairs(launch)
    words = [f"--{part}={text}" for part, text in parts]
    names = chip if isinstance(chip, str) else ",".join(chip)
    arguments = ["predict", given.path, "--chip", names, *given.flags, *words]
    arguments += source_flags(defines, include, std, fast_math) + constant_flags(constants)
    function = function or given.function
    if function is not None:
        arguments += ["-f", function]
    if cold:
        arguments += ["--cold"]
    for figure, value in (what_if or {}).items():
        arguments += ["--what-if", f"{figure}={value}"]
    if repeat != 1:
        arguments += ["--repeat", str(repeat)]
    inputs = given.inputs + files
    options = given.options.with_call(defines, include, std, fast_math, constants)
    question = _documents.question(given, function, names, options, parts)
    changes = [f"{figure}={value}" for figure, value in (what_if or {}).items()]
    found = _documents.read(_native.predict(question, cold, changes, repeat, inputs))["predictions"]
    if not found:
        raise InputError("no time could be predicted")
    return Prediction(found[0], arguments, inputs, found)
