"""Keyword arguments of Python as flags of a command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

Defines = Union[Mapping[str, Any], Iterable[str], None]
Constants = Union[Mapping[Any, Any], None]


@dataclass
class Options:
    """How source is compiled, and the values of function constants as ``KEY=TYPE:VALUE``."""

    defines: list[str] = field(default_factory=list)
    include_folders: list[str] = field(default_factory=list)
    include_files: list[str] = field(default_factory=list)
    std: str | None = None
    fast_math: bool = True
    constants: list[str] = field(default_factory=list)

    def flags(self) -> list[str]:
        """The same as flags of a command line."""
        words = source_flags(self.defines, self.include_folders, self.std, self.fast_math)
        words += [f"--include={one}" for one in self.include_files]
        return words + [word for constant in self.constants for word in ("--const", constant)]

    def with_call(
        self,
        defines: Defines,
        include: Iterable[str | os.PathLike[str]],
        std: str | None,
        fast_math: bool,
        constants: Constants,
    ) -> Options:
        """These options, and those of a call behind them."""
        return Options(
            self.defines + define_list(defines),
            self.include_folders + [os.fspath(one) for one in include],
            self.include_files,
            std or self.std,
            self.fast_math and fast_math,
            self.constants + typed_constants(constants),
        )


def source_flags(
    defines: Defines = None,
    include: Iterable[str | os.PathLike[str]] = (),
    std: str | None = None,
    fast_math: bool = True,
) -> list[str]:
    """How source is compiled."""
    flags = [word for define in define_list(defines) for word in ("-D", define)]
    flags += [word for folder in include for word in ("-I", os.fspath(folder))]
    if std is not None:
        flags += ["--std", std]
    if not fast_math:
        flags += ["--no-fast-math"]
    return flags


def define_list(defines: Defines) -> list[str]:
    """Macros as ``NAME`` or ``NAME=VALUE``.

    >>> from assay._options import define_list
    >>> define_list({"N": 4, "FAST": None, "HALF": True})
    ['N=4', 'FAST', 'HALF=1']
    """
    if defines is None:
        return []
    if isinstance(defines, Mapping):
        number = {True: "1", False: "0"}
        return [
            str(name) if value is None else f"{name}={number[value] if isinstance(value, bool) else value}"
            for name, value in defines.items()
        ]
    return [str(define) for define in defines]


def constant_list(constants: Constants) -> list[str]:
    """Values of function constants as ``KEY=VALUE``; text such as ``"uint:3"`` stays."""
    return [f"{key}={_value(value)}" for key, value in (constants or {}).items()]


def typed_constants(constants: Constants) -> list[str]:
    """Values of function constants as ``KEY=TYPE:VALUE``, with the types that Python's numbers have."""
    typed = []
    for key, value in (constants or {}).items():
        text = _value(value)
        if ":" not in text:
            kind = "bool" if isinstance(value, bool) else "float" if "." in text else "int" if text[:1] == "-" else "uint"
            text = f"{kind}:{text}"
        typed.append(f"{key}={text}")
    return typed


def constant_flags(constants: Constants) -> list[str]:
    """The same for a command line."""
    return [word for constant in typed_constants(constants) for word in ("--const", constant)]


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return repr(float(value)) if isinstance(value, float) else str(value)
