"""Machine code: disassembler and assembler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _documents
from ._html import preformatted
from ._inputs import resolve
from ._record import Record, table

if TYPE_CHECKING:
    from ._inputs import Code


@dataclass(frozen=True)
class Program:
    """Machine code."""

    code: bytes

    def disasm(self) -> Disassembly:
        """Its instructions."""
        return disasm(self.code)

    def __bytes__(self) -> bytes:
        return self.code

    def __len__(self) -> int:
        return len(self.code)


class Disassembly:
    """Instructions: iterable records with offset, bytes, mnemonic, operands, reads and writes."""

    def __init__(self, text: str, instructions: list[Record], summary: Record):
        self._text = text
        #: The instructions.
        self.instructions = tuple(instructions)
        #: Bytes, instructions, what is unknown.
        self.summary = summary

    def __iter__(self) -> Iterator[Record]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)

    def __getitem__(self, index: int) -> Record:
        return self.instructions[index]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Disassembly of {len(self)} instructions>"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain dictionaries and lists."""
        return {"instructions": [row.to_dict() for row in self.instructions], "summary": self.summary.to_dict()}

    def to_pandas(self) -> Any:
        """The instructions as a pandas table."""
        return table(self.instructions)

    def _repr_html_(self) -> str:
        return preformatted(self._text)


def disasm(code: Code | Program, function: str | None = None, *, isa: str | None = None) -> Disassembly:
    """Disassembles machine code (bytes), or what is generated for a kernel.

    >>> import assay
    >>> listing = assay.disasm(bytes.fromhex("3a914e02254802003800"))
    >>> [row.mnemonic for row in listing], listing[0].operands
    (['fmadd32', 'wait'], ('r4', 'r7', 'r8', 'r4'))
    """
    given = resolve(code.code if isinstance(code, Program) else code)
    function = function or given.function
    arguments = ["disasm", given.path, *given.flags]
    if function is not None:
        arguments += ["-f", function]
    if isa is not None:
        arguments += ["--isa", isa]
    rows: list[Record] = []
    summary = Record({})
    for line in _documents.text([*arguments, "--format", "json"], given.inputs).splitlines():
        row = json.loads(line)
        if "schema" in row:
            summary = Record(row.get("summary", {}))
        else:
            rows.append(Record(row))
    return Disassembly(_documents.text(arguments, given.inputs), rows, summary)


def assemble(text: str, *, isa: str = "g13") -> Program:
    """Assembles instructions, one a line.

    >>> import assay
    >>> assay.assemble("fmadd32 r4, r7, r8, r4\\nwait 0").code.hex()
    '3a914e02254802003800'
    """
    digits = _documents.text(["asm", "program.s", "--isa", isa], [("program.s", text.encode())])
    return Program(bytes.fromhex(digits))
