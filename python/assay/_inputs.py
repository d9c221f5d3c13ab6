"""What a kernel may be given as: a path, Metal source, bytes of a file, or an object of this package."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Union

from ._errors import InputError, UsageError
from ._options import Options

if TYPE_CHECKING:
    from ._library import Kernel, Library

    Code = Union[str, os.PathLike[str], bytes, bytearray, memoryview, Library, Kernel]

#: What begins files whose bytes may be given.
_MAGIC = {b"MTLB": ".metallib", b"BC\xc0\xde": ".air", b"\xcb\xfe\xba\xbe": ".gpubin", b"\xcf\xfa\xed\xfe": ".gpubin"}


@dataclass
class Input:
    """A path for the command line, with the bytes it means if they are in memory."""

    path: str
    inputs: list[tuple[str, bytes]] = field(default_factory=list)
    #: How the source is compiled.
    options: Options = field(default_factory=Options)
    function: str | None = None

    @property
    def flags(self) -> list[str]:
        """The options as flags of a command line."""
        return self.options.flags()


def resolve(code: Code, stem: str = "source") -> Input:
    """Says what a kernel was given as."""
    from ._library import Kernel, Library

    if isinstance(code, Kernel):
        options = replace(code.library.options, constants=code.constants)
        return Input(code.library.path, code.library.inputs, options, code.name)
    if isinstance(code, Library):
        return Input(code.path, code.inputs, code.options)
    if isinstance(code, (bytes, bytearray, memoryview)):
        data = bytes(code)
        path = stem + _MAGIC.get(data[:4], ".metal" if looks_like_source(data[:65536].decode("utf-8", "replace")) else ".bin")
        return Input(path, [(path, data)])
    if isinstance(code, os.PathLike):
        return existing(os.fspath(code))
    if isinstance(code, str):
        if looks_like_source(code):
            path = f"{stem}.metal"
            return Input(path, [(path, code.encode())])
        return existing(code)
    raise UsageError(
        f"a kernel cannot be given as {type(code).__name__}",
        "give a path, Metal source, the bytes of a file, or a Library or Kernel",
    )


def existing(path: str) -> Input:
    """A path of a file that is there."""
    if not os.path.exists(path):
        raise InputError(f"there is no file {path}", "source given as a string has at least one line end or brace")
    return Input(path)


def looks_like_source(text: str) -> bool:
    """Returns true if a string is Metal source, not a path."""
    return "\n" in text or "{" in text or not text.strip()
