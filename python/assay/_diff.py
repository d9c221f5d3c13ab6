"""Two kernels side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _documents
from ._html import frame
from ._inputs import resolve
from ._launch import Launch
from ._launch import flags as launch_flags
from ._record import Record, table

if TYPE_CHECKING:
    from ._inputs import Code


class Diff(Record):
    """A comparison: which kernel is faster by predicted time, and which figures changed."""

    __slots__ = ("_arguments", "_inputs")

    def __init__(self, data: dict[str, Any], arguments: list[str], inputs: list[tuple[str, bytes]]):
        super().__init__(data)
        self._arguments = arguments
        self._inputs = inputs

    @property
    def changed(self) -> bool:
        """True if any figure changed."""
        return bool(self._data["changed"])

    @property
    def kernels(self) -> tuple[Record, ...]:
        """Kernel by kernel."""
        return tuple(Record(kernel) for kernel in self._data["kernels"])

    def to_pandas(self) -> Any:
        """The figures of all kernels as a pandas table."""
        rows = [{"kernel": kernel["name"], **figure} for kernel in self._data["kernels"] for figure in kernel.get("figures", ())]
        return table(rows)

    def text(self) -> str:
        """The comparison as ``assay diff`` prints it."""
        return _documents.text(self._arguments, self._inputs)

    def html(self) -> str:
        """The comparison as a page of its own."""
        return _documents.text([*self._arguments, "--format", "html"], self._inputs)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Diff of {', '.join(str(kernel['name']) for kernel in self._data['kernels'])}>"

    def _repr_html_(self) -> str:
        return frame(self.html(), 420)


def diff(
    before: Code,
    after: Code,
    function: str | None = None,
    chip: str = "m2",
    launch: Launch | None = None,
    *,
    after_function: str | None = None,
) -> Diff:
    """Which of two kernels is faster, and what changed. Both are given as for :func:`assay.profile`.

    >>> import assay
    >>> loop = "kernel void k(device float* x, uint i [[thread_position_in_grid]]) { for (int n = 0; n < COUNT; n++) x[i] = metal::sin(x[i]); }"
    >>> d = assay.diff(loop.replace("COUNT", "1"), loop.replace("COUNT", "2"))
    >>> d.changed, len(d.kernels)
    (True, 1)
    """
    first, second = resolve(before, "before"), resolve(after, "after")
    words, files = launch_flags(launch)
    arguments = ["diff", first.path, second.path, "--chip", chip, *words, *first.flags]
    function = function or first.function
    after_function = after_function or second.function
    if function is not None:
        arguments += ["-f", function]
    if after_function is not None and after_function != function:
        arguments += ["--after-function", after_function]
    inputs = first.inputs + second.inputs + files
    return Diff(_documents.document(arguments, inputs), arguments, inputs)
