"""The Metal source of an MLX custom kernel: signature and template around the body that a user writes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from ._errors import UsageError

#: MLX's names of types in Metal source, by the names NumPy gives them.
TYPES = {
    "bool": "bool",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "float16": "float16_t",
    "float32": "float",
    "bfloat16": "bfloat16_t",
    "complex64": "complex64_t",
}

#: Attributes that become arguments when the body names them.
ATTRIBUTES = {
    "dispatch_quadgroups_per_threadgroup": "uint",
    "dispatch_simdgroups_per_threadgroup": "uint",
    "dispatch_threads_per_threadgroup": "uint3",
    "grid_origin": "uint3",
    "grid_size": "uint3",
    "quadgroup_index_in_threadgroup": "uint",
    "quadgroups_per_threadgroup": "uint",
    "simdgroup_index_in_threadgroup": "uint",
    "simdgroups_per_threadgroup": "uint",
    "thread_execution_width": "uint",
    "thread_index_in_quadgroup": "uint",
    "thread_index_in_simdgroup": "uint",
    "thread_index_in_threadgroup": "uint",
    "thread_position_in_grid": "uint3",
    "thread_position_in_threadgroup": "uint3",
    "threadgroup_position_in_grid": "uint3",
    "threadgroups_per_grid": "uint3",
    "threads_per_grid": "uint3",
    "threads_per_simdgroup": "uint",
    "threads_per_threadgroup": "uint3",
}

#: Arrays with fewer elements are passed in the constant address space.
SMALLEST_DEVICE_ARRAY = 8

TemplateArgument = Union[bool, int, str]


@dataclass(frozen=True)
class Input:
    """What the signature depends on of an input."""

    name: str
    dtype: str
    ndim: int
    size: int


@dataclass(frozen=True)
class Signature:
    """A kernel's generated source, and the arguments in the order of their indices."""

    name: str
    source: str
    #: Name of the array, and what is bound of it: ``data``, ``shape``, ``strides`` or ``ndim``.
    arguments: tuple[tuple[str, str], ...]


def utilities() -> str:
    """What bodies may expect to be declared."""
    return Path(__file__).with_name("mlx_utils.metal").read_text()


def signature(
    name: str,
    body: str,
    header: str,
    inputs: Sequence[Input],
    outputs: Sequence[tuple[str, str]],
    template: Sequence[tuple[str, TemplateArgument]],
    atomic_outputs: bool,
) -> Signature:
    """Generates the kernel. Template arguments are truth values, numbers, or names of types."""
    label = kernel_name(name, inputs, outputs, template)
    arguments: list[tuple[str, str]] = []
    lines: list[str] = []

    def add(declaration: str, array: str, what: str) -> None:
        lines.append(f"  {declaration} [[buffer({len(arguments)})]]")
        arguments.append((array, what))

    for one in inputs:
        space = "constant" if one.size < SMALLEST_DEVICE_ARRAY else "device"
        add(f"const {space} {metal_type(one.dtype)}{'*' if one.ndim else '&'} {one.name}", one.name, "data")
        for what, form in (("shape", "const constant int* {}"), ("strides", "const constant int64_t* {}"), ("ndim", "const constant int& {}")):
            extra = f"{one.name}_{what}"
            if one.ndim and extra in body:
                add(form.format(extra), one.name, what)
    for array, dtype in outputs:
        kind = metal_type(dtype)
        add(f"device {f'atomic<{kind}>' if atomic_outputs else kind}* {array}", array, "data")
    lines += [f"  {kind} {word} [[{word}]]" for word, kind in ATTRIBUTES.items() if word in body]
    parameters = ",\n".join(lines)
    before = f"template <{', '.join(f'{_kind(value)} {key}' for key, value in template)}>\n" if template else ""
    source = f"{header}\n{before}[[kernel]] void {label}(\n{parameters}) {{\n{body}\n}}\n"
    if template:
        instance = f"{label}<{', '.join(_text(value) for _, value in template)}>"
        source += f'\ntemplate [[host_name("{label}")]] [[kernel]] decltype({instance}) {instance};\n'
    return Signature(label, source, tuple(arguments))


def kernel_name(
    name: str, inputs: Sequence[Input], outputs: Sequence[tuple[str, str]], template: Sequence[tuple[str, TemplateArgument]]
) -> str:
    """The kernel's name: it says what the source depends on."""
    parts = [f"custom_kernel_{name}"]
    parts += [re.sub(r"\W", "_", _text(value)) for _, value in template]
    for one in inputs:
        parts.append(metal_type(one.dtype) + ("s" if not one.ndim else "c" if one.size < SMALLEST_DEVICE_ARRAY else ""))
    parts += [metal_type(dtype) for _, dtype in outputs]
    return "_".join(parts)


def metal_type(dtype: str) -> str:
    """A type's name in the source."""
    if dtype not in TYPES:
        raise UsageError(f"metal_kernel takes no arrays of {dtype}", f"it takes {', '.join(TYPES)}")
    return TYPES[dtype]


def dtype_name(value: Any) -> str:
    """NumPy's name of a type of NumPy, MLX or PyTorch.

    >>> import numpy
    >>> from assay._mlx_source import dtype_name
    >>> dtype_name(numpy.float32), dtype_name(numpy.dtype("int8")), dtype_name("bfloat16")
    ('float32', 'int8', 'bfloat16')
    """
    import numpy

    text = value if isinstance(value, str) else str(value)
    last = text.rsplit(".", 1)[-1].strip("'>")
    last = {"bool_": "bool", "float": "float32", "half": "float16"}.get(last, last)
    if last in TYPES:
        return last
    try:
        return str(numpy.dtype(value).name)
    except TypeError:
        raise UsageError(f"{value!r} is no type of numbers") from None


def template_argument(name: str, value: Any) -> tuple[str, TemplateArgument]:
    """A template argument: a truth value, a number, or a type."""
    import numpy

    if isinstance(value, (bool, numpy.bool_)):
        return name, bool(value)
    if isinstance(value, (int, numpy.integer)):
        return name, int(value)
    return name, metal_type(dtype_name(value))


def _kind(value: TemplateArgument) -> str:
    return "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "typename"


def _text(value: TemplateArgument) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
