"""How a kernel is dispatched, as flags of a command line."""

from __future__ import annotations

import io
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Union

from ._errors import UsageError

Extent = Union[int, Sequence[Any], str]
Launch = Union[str, Mapping[str, Any]]

_KEYS = ("sizes", "grid", "groups", "threadgroup", "arguments", "buffers", "bytes", "threadgroup_memory")


def flags(launch: Launch | None) -> tuple[list[str], list[tuple[str, bytes]]]:
    """The flags of a launch, and the arrays they name as files in memory.

    A launch is a string of flags as the program takes them, or a mapping with ``grid`` or ``groups``, ``threadgroup``,
    ``sizes`` (numbers by name, for formulas), ``arguments`` (by the kernel's own names: a number, an array, a description such as
    ``"random:N"``), ``buffers`` and ``bytes`` (by index: a description such as ``"random:f32:N"``, an array, a number of a NumPy
    type) and ``threadgroup_memory`` (bytes by index).

    >>> from assay._launch import flags
    >>> flags({"sizes": {"N": 64}, "grid": ("N", "N"), "threadgroup": (8, 8), "bytes": {2: "u32:N"}})[0]
    ['--size=N=64', '--grid=N,N', '--threadgroup=8,8', '--bytes=2=u32:N']
    """
    parts, files = pairs(launch)
    return [f"--{part}={text}" for part, text in parts], files


def pairs(launch: Launch | None) -> tuple[list[tuple[str, str]], list[tuple[str, bytes]]]:
    """The parts of a launch, each a name and a text, and the arrays they name as files in memory.

    >>> from assay._launch import pairs
    >>> pairs("--grid 64 --threadgroup=32")[0]
    [('grid', '64'), ('threadgroup', '32')]
    """
    if launch is None:
        return [], []
    if isinstance(launch, str):
        return _split(launch), []
    unknown = [key for key in launch if key not in _KEYS]
    if unknown:
        raise UsageError(f"a launch has no {', '.join(map(repr, unknown))}", f"it has {', '.join(_KEYS)}")
    parts: list[tuple[str, str]] = []
    files: list[tuple[str, bytes]] = []
    for name, value in launch.get("sizes", {}).items():
        values = value if isinstance(value, (list, tuple)) else [value]
        parts.append(("size", f"{name}={','.join(map(str, values))}"))
    for key in ("grid", "groups", "threadgroup"):
        if launch.get(key) is not None:
            parts.append((key, extent(launch[key])))
    for name, value in launch.get("arguments", {}).items():
        is_array = getattr(value, "ndim", 0) > 0 or isinstance(value, (list, tuple))
        parts.append(("arg", f"{name}={_buffer(name, value, files) if is_array else value}"))
    for index, value in launch.get("buffers", {}).items():
        parts.append(("buffer", f"{index}={_buffer(index, value, files)}"))
    for index, value in launch.get("bytes", {}).items():
        parts.append(("bytes", f"{index}={_values(value)}"))
    for index, value in launch.get("threadgroup_memory", {}).items():
        parts.append(("tgmem", f"{index}={value}"))
    return parts, files


def _split(launch: str) -> list[tuple[str, str]]:
    """The parts of a launch that is written as flags."""
    words = iter(shlex.split(launch))
    parts: list[tuple[str, str]] = []
    for word in words:
        name, is_whole, text = word.partition("=")
        if not name.startswith("--"):
            raise UsageError(f"unexpected argument {word!r} in a launch", "it is flags: --grid 64 --threadgroup 32")
        value = text if is_whole else next(words, None)
        if value is None:
            raise UsageError(f"{name}: its value is missing")
        parts.append((name[2:], value))
    return parts


def extent(value: Extent) -> str:
    """One to three extents with commas between them."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ",".join(str(one) for one in value)
    return str(value)


def _buffer(index: Any, value: Any, files: list[tuple[str, bytes]]) -> str:
    if isinstance(value, str):
        return value
    import numpy

    array = numpy.asarray(value)
    name = f"buffer-{index}.npy"
    target = io.BytesIO()
    numpy.save(target, array)
    files.append((name, target.getvalue()))
    return name


def _values(value: Any) -> str:
    if isinstance(value, str):
        return value
    import numpy

    if isinstance(value, (bool, int, float)):
        value = numpy.bool_(value) if isinstance(value, bool) else numpy.int32(value) if isinstance(value, int) else numpy.float32(value)
    array = numpy.asarray(value).reshape(-1)
    kind = {"f": "f", "i": "i", "u": "u"}.get(array.dtype.kind)
    name = "bool" if array.dtype.kind == "b" else f"{kind}{array.dtype.itemsize * 8}"
    if kind is None and name != "bool":
        raise UsageError(f"{array.dtype} has no name in a launch", "write it as text: 'u32:64' or 'f32:0.5,2'")
    return f"{name}:" + ",".join(str(one).lower() for one in array.tolist())
