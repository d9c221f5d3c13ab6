"""What a kernel costs, and why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import _documents, _native
from ._errors import UsageError
from ._html import frame
from ._inputs import resolve
from ._launch import Launch
from ._launch import pairs as launch_pairs
from ._options import Constants, Defines, constant_flags, source_flags
from ._record import Record, table

if TYPE_CHECKING:
    from ._inputs import Code


class Profile(Record):
    """A kernel's static profile. Every figure of the report is an attribute; cycles are modelled.

    >>> import assay
    >>> p = assay.profile("kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }")
    >>> p.name, p.chip, p.occupancy.threads
    ('k', 'm2', 1024)
    >>> [row.text.split()[0] for row in p.instructions][-1]
    'stop'
    """

    __slots__ = ("_arguments", "_inputs")

    def __init__(self, data: dict[str, Any], arguments: list[str], inputs: list[tuple[str, bytes]]):
        super().__init__(data)
        self._arguments = arguments
        self._inputs = inputs

    def __getstate__(self) -> Any:
        return (self._data, self._arguments, self._inputs)

    def __setstate__(self, state: Any) -> None:
        self._data, self._arguments, self._inputs = state

    @property
    def name(self) -> str:
        """The kernel."""
        return str(self._data["name"])

    @property
    def chip(self) -> str:
        """The chip the costs are of."""
        return str(self._data["chip"])

    @property
    def verdict(self) -> str:
        """What limits the kernel, in a sentence."""
        return str(self._data["verdict"])

    @property
    def figures(self) -> dict[str, float]:
        """The figures that comparisons use, by name."""
        return dict(self._data["figures"])

    @property
    def predicted(self) -> Record | None:
        """The predicted GPU time, if a launch is known."""
        predicted = self._data.get("predicted")
        return None if predicted is None else Record(predicted)

    @property
    def lines(self) -> tuple[Record, ...]:
        """What each source line costs."""
        files = self._data["main"]["files"]
        return tuple(Record({**line, "file": _file(files, line["file"])}) for line in self._data["lines"])

    @property
    def loops(self) -> tuple[Record, ...]:
        """The loops, each with trip count, costs and bounds."""
        return tuple(Record(loop) for loop in self._data["main"]["loops"])

    @property
    def blocks(self) -> tuple[Record, ...]:
        """The basic blocks."""
        return tuple(Record(block) for block in self._data["main"]["blocks"])

    @property
    def instructions(self) -> tuple[Record, ...]:
        """The executed instructions with their costs."""
        return tuple(Record(row) for row in self._data["listing"])

    @property
    def findings(self) -> tuple[Record, ...]:
        """What could be better, the most important first; ``assay.explain(finding.rule)`` says more."""
        return tuple(Record(finding) for finding in self._data["findings"])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def to_pandas(self) -> Any:
        """The instructions as a pandas table."""
        return table(self.instructions)

    def text(self) -> str:
        """The report as ``assay profile`` prints it."""
        return _documents.text(self._arguments, self._inputs)

    def html(self) -> str:
        """The report as a page of its own."""
        return _documents.text([*self._arguments, "--format", "html"], self._inputs)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Profile of {self.name} on {self.chip}: {self.verdict}>"

    def _repr_html_(self) -> str:
        return frame(self.html())


def profiles(
    code: Code,
    function: str | None = None,
    chip: str = "m2",
    launch: Launch | None = None,
    *,
    costs: str | None = None,
    defines: Defines = None,
    include: Iterable[str | os.PathLike[str]] = (),
    std: str | None = None,
    fast_math: bool = True,
    constants: Constants = None,
) -> list[Profile]:
    """Profiles of all kernels of a file, or of one."""
    given = resolve(code)
    parts, files = launch_pairs(launch)
    words = [f"--{part}={text}" for part, text in parts]
    function = function or given.function
    arguments = ["profile", given.path, "--chip", chip, *given.flags, *words]
    arguments += source_flags(defines, include, std, fast_math) + constant_flags(constants)
    if costs is not None:
        arguments += ["--costs", costs]
    inputs = given.inputs + files
    options = given.options.with_call(defines, include, std, fast_math, constants)
    question = _documents.question(given, function, chip, options, parts)
    read = _documents.read(_native.profile(question, costs, inputs))
    return [Profile(entry, [*arguments, "-f", entry["name"]], inputs) for entry in read["profiles"]]


def profile(
    code: Code,
    function: str | None = None,
    chip: str = "m2",
    launch: Launch | None = None,
    *,
    costs: str | None = None,
    defines: Defines = None,
    include: Iterable[str | os.PathLike[str]] = (),
    std: str | None = None,
    fast_math: bool = True,
    constants: Constants = None,
) -> Profile:
    """What a kernel costs on a chip: registers, occupancy, cycles by unit, source lines, loops, waits, bounds, findings.

    ``code`` is a path, Metal source, the bytes of a file, a ``Library`` or a ``Kernel``. With a ``launch`` (a mapping with
    grid, threadgroup, …, or flags in a string) the profile has a predicted time too.

    >>> import assay
    >>> source = '''
    ... kernel void dot(device const float* a, device const float* b, device float* out, constant uint& n,
    ...                 uint i [[thread_position_in_grid]]) {
    ...     float sum = 0;
    ...     for (uint k = 0; k < n; k++) sum += a[i * n + k] * b[k];
    ...     out[i] = sum;
    ... }'''
    >>> p = assay.profile(source, launch={"grid": 4096, "threadgroup": 256, "bytes": {3: "u32:256"}})
    >>> len(p.loops), p.loops[0].loads
    (1, 2)
    >>> p.predicted.basis
    'modelled'
    """
    found = profiles(
        code,
        function,
        chip,
        launch,
        costs=costs,
        defines=defines,
        include=include,
        std=std,
        fast_math=fast_math,
        constants=constants,
    )
    if len(found) != 1:
        names = ", ".join(one.name for one in found[:20])
        raise UsageError(f"there are {len(found)} kernels", f"choose one with function=: {names}")
    return found[0]


def _file(files: list[str], number: Any) -> Any:
    return files[number] if isinstance(number, int) and number < len(files) else None
