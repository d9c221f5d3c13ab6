"""What is inside a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _documents
from ._html import preformatted
from ._inputs import resolve
from ._record import Record, table

if TYPE_CHECKING:
    from ._inputs import Code


class Inspection(Record):
    """What is inside a metallib, bitcode, source, archive or Mach-O.

    >>> import assay
    >>> found = assay.inspect("kernel void k(device float* x, constant uint& n) {}")
    >>> [(a.name, a.kind, a.index) for a in found.kernels[0].arguments]
    [('x', 'buffer', 0), ('n', 'buffer', 1)]
    """

    __slots__ = ("_arguments", "_inputs")

    def __init__(self, data: dict[str, Any], arguments: list[str], inputs: list[tuple[str, bytes]]):
        super().__init__(data)
        self._arguments = arguments
        self._inputs = inputs

    @property
    def kernels(self) -> tuple[Record, ...]:
        """The kernels."""
        return tuple(Record(kernel) for kernel in self._data.get("kernels") or ())

    def to_pandas(self) -> Any:
        """The kernels as a pandas table."""
        return table(self.kernels)

    def text(self) -> str:
        """The listing as ``assay inspect`` prints it."""
        return _documents.text(self._arguments, self._inputs)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return preformatted(self.text())


def inspect(code: Code, function: str | None = None) -> Inspection:
    """Lists what is inside a file: kernels with their arguments, versions, sizes, machine code."""
    given = resolve(code)
    function = function or given.function
    arguments = ["inspect", given.path, *[flag for flag in given.flags], *([] if function is None else ["-f", function])]
    return Inspection(_documents.document(arguments, given.inputs), arguments, given.inputs)
