"""Arguments of a call as memory: arrays are borrowed, numbers become bytes of the type the kernel declares."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy

from ._errors import UsageError

#: Metal's scalar types: NumPy's name, format of ``struct``, size.
SCALARS: dict[str, tuple[str, str, int]] = {
    "bool": ("bool", "?", 1),
    "char": ("int8", "b", 1),
    "uchar": ("uint8", "B", 1),
    "short": ("int16", "h", 2),
    "ushort": ("uint16", "H", 2),
    "int": ("int32", "i", 4),
    "uint": ("uint32", "I", 4),
    "long": ("int64", "q", 8),
    "ulong": ("uint64", "Q", 8),
    "half": ("float16", "e", 2),
    "float": ("float32", "f", 4),
    "bfloat": ("bfloat16", "", 2),
}
_OTHER_NAMES = {
    "int8_t": "char",
    "uint8_t": "uchar",
    "int16_t": "short",
    "uint16_t": "ushort",
    "int32_t": "int",
    "uint32_t": "uint",
    "int64_t": "long",
    "uint64_t": "ulong",
    "size_t": "ulong",
    "float16_t": "half",
    "bfloat16_t": "bfloat",
    "unsigned int": "uint",
    "unsigned char": "uchar",
    "unsigned short": "ushort",
    "unsigned long": "ulong",
}


def scalar_of(type_name: str) -> tuple[str, int] | None:
    """The scalar of a Metal type and how many it has: ``float4`` is four floats. Nothing for structs.

    >>> from assay._arrays import scalar_of
    >>> scalar_of("const float4"), scalar_of("atomic_uint"), scalar_of("Params")
    (('float', 4), ('uint', 1), None)
    """
    name = type_name.removeprefix("const ").removeprefix("metal::").strip()
    for prefix in ("packed_", "atomic_", "_atomic_"):
        name = name.removeprefix(prefix)
    if name.startswith("atomic<") and name.endswith(">"):
        name = name[7:-1]
    name = _OTHER_NAMES.get(name, name)
    lanes = 1
    if name not in SCALARS and name[-1:] in "234" and name[:-1] in SCALARS:
        name, lanes = name[:-1], int(name[-1])
    return (name, lanes) if name in SCALARS else None


class Slot:
    """One argument of a kernel: what may be bound to it."""

    def __init__(self, facts: dict[str, Any]):
        self.name: str = facts["name"]
        self.index: int = facts["index"]
        self.type: str = facts["type"]
        self.required: bool = facts["required"]
        self.space: str = facts["space"] or ""
        self.writes: bool = facts["access"] in ("write", "readwrite") and self.space == "device"
        self.size: int = facts["size"]
        self.bytes: int | None = facts["buffer_size"]
        self._scalar = scalar_of(self.type)
        self._suitable = _suitable(self._scalar[0]) if self._scalar else None

    def bind(self, value: Any) -> Any:
        """The object whose memory is bound: the array itself, or bytes."""
        if type(value) is not numpy.ndarray:
            if isinstance(value, (bool, int, float)) or isinstance(value, numpy.generic) and value.dtype.kind != "V":
                return self._pack((value,))
            if isinstance(value, (bytes, bytearray)):
                return value
            if isinstance(value, (list, tuple)):
                return self._pack(value)
            value = self._array(value)
        if value.ndim == 0:
            value = value.reshape(1)
        flags = value.flags
        if self._suitable is not None and value.dtype not in self._suitable:
            value = self._bits(value)
        if not flags.forc:
            raise UsageError(
                f"argument {self.name!r}: the array's numbers do not lie side by side",
                f"pass numpy.ascontiguousarray({self.name}), and copy it back if the kernel writes it",
            )
        if self.writes and not flags.writeable:
            raise UsageError(
                f"argument {self.name!r}: the array is read-only, and the kernel declares `device {self.type}*`, which it may write",
                f"pass {self.name}.copy(), or declare the argument const",
            )
        return value

    def _array(self, value: Any) -> Any:
        try:
            return as_array(value)
        except UsageError as error:
            raise UsageError(f"argument {self.name!r}: {error.message}", error.advice) from None

    def _bits(self, value: Any) -> Any:
        """The bits of a brain float, which the buffer protocol has no name for. Other types are refused."""
        wanted = SCALARS[self._scalar[0]][0] if self._scalar else ""
        if value.dtype.name == wanted == "bfloat16":
            return value.view(numpy.uint16)
        if value.dtype.newbyteorder("=") in (self._suitable or ()):
            raise UsageError(f"argument {self.name!r}: its bytes are in the other order", f"pass {self.name}.astype({wanted!r})")
        raise UsageError(
            f"argument {self.name!r} is {self.type} in the kernel and {value.dtype} here",
            f"pass {self.name}.astype({wanted!r})",
        )

    def _pack(self, values: Sequence[Any]) -> bytes:
        """Numbers as bytes of the argument's type."""
        if self._scalar is None:
            raise UsageError(
                f"argument {self.name!r} is a {self.type}, which is no number",
                "pass its bytes, or a NumPy array with a structured dtype",
            )
        kind, lanes = self._scalar
        _, code, size = SCALARS[kind]
        if self.bytes is not None and len(values) != lanes and len(values) * size != self.bytes:
            raise UsageError(f"argument {self.name!r} is {self.type}: it has {lanes} numbers, {len(values)} are given")
        try:
            if kind == "bfloat":
                packed = b"".join(_bfloat(float(value)) for value in values)
            elif code in "ef":
                packed = struct.pack(f"<{len(values)}{code}", *(float(value) for value in values))
            else:
                packed = struct.pack(f"<{len(values)}{code}", *(_whole(value) for value in values))
        except (struct.error, OverflowError, TypeError, ValueError) as error:
            shown = values[0] if len(values) == 1 else tuple(values)
            raise UsageError(f"argument {self.name!r}: {shown!r} is no {self.type} ({error})") from None
        # A vector of three takes the room of four.
        return packed.ljust(self.bytes or len(packed), b"\0")

    def allocate(self, shape: Any, dtype: Any) -> Any:
        """A new array for the argument."""
        if dtype is None:
            if self._scalar is None:
                raise UsageError(f"argument {self.name!r} is a {self.type}", "say its dtype: assay.out(shape, dtype)")
            dtype = dtype_named(SCALARS[self._scalar[0]][0])
        return numpy.zeros(shape, dtype)


def _suitable(kind: str) -> frozenset[Any]:
    """The types whose bytes a kernel understands: integers of a size stand for each other, brain floats are bits."""
    name, _, size = SCALARS[kind]
    if name == "bfloat16":
        return frozenset({numpy.dtype("uint16")})
    names = {name}
    if "float" not in name:
        names |= {f"int{size * 8}", f"uint{size * 8}"} | ({"bool"} if size == 1 else set())
    return frozenset(numpy.dtype(one) for one in names)


def as_array(value: Any) -> Any:
    """An array over the memory of an object with the buffer protocol or DLPack."""
    if hasattr(value, "dtype") and str(value.dtype).endswith("bfloat16") and not isinstance(value, numpy.ndarray):
        value = _bits_of_bfloat(value)
    for view in (numpy.from_dlpack, numpy.asarray):
        try:
            array = view(value)
        except (TypeError, AttributeError, BufferError, RuntimeError, ValueError):
            continue
        if array.dtype != object:
            return array
    raise UsageError(
        f"{type(value).__name__} is no array", "pass a NumPy array, or an object with the buffer protocol or DLPack"
    )


def _bits_of_bfloat(value: Any) -> Any:
    """A bfloat16 array of another library as its bits."""
    view = getattr(value, "view", None)
    module = type(value).__module__.split(".")[0]
    if view is not None and module == "mlx":
        import mlx.core as mx

        return view(mx.uint16)
    if view is not None and module == "torch":
        import torch

        return view(torch.uint16)
    return value


def dtype_named(name: str) -> Any:
    """A NumPy type by name; bfloat16 is ml_dtypes' where that is installed, else its bits as uint16."""
    if name != "bfloat16":
        return numpy.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        return numpy.dtype(numpy.uint16)
    return numpy.dtype(ml_dtypes.bfloat16)


def _whole(value: Any) -> int:
    if isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "i") == "f":
        raise TypeError("a float")
    return int(value)


def _bfloat(value: float) -> bytes:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if bits & 0x7FFFFFFF <= 0x7F800000:
        bits += 0x7FFF + (bits >> 16 & 1)
    else:
        bits |= 0x400000
    return struct.pack("<H", bits >> 16)

