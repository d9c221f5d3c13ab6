"""Commands of the program as functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from . import _compiler, _native
from ._errors import InputError

if TYPE_CHECKING:
    from ._inputs import Input
    from ._options import Options


def text(arguments: Sequence[str], inputs: Sequence[tuple[str, bytes]] = ()) -> str:
    """What a command prints."""
    return output(arguments, inputs)[1].decode()


def output(arguments: Sequence[str], inputs: Sequence[tuple[str, bytes]] = ()) -> tuple[int, bytes]:
    """The exit code of a command (0 or 1), and what it prints."""
    _compiler.provide()
    return _native.call([str(word) for word in arguments], list(inputs))


def question(
    given: Input, function: str | None, chip: str, options: Options, launch: list[tuple[str, str]]
) -> dict[str, Any]:
    """What is asked about the kernels of a file, for the native functions."""
    _compiler.provide()
    return {
        "path": given.path,
        "function": function or given.function,
        "chip": chip,
        "launch": launch,
        **asdict(options),
    }


def read(answer: tuple[int, bytes]) -> dict[str, Any]:
    """The JSON document of an answer."""
    code, printed = answer
    found: dict[str, Any] = json.loads(printed)
    if code not in (0, 1):
        raise InputError(_refusals(found))
    return found


def document(arguments: Sequence[str], inputs: Sequence[tuple[str, bytes]] = ()) -> dict[str, Any]:
    """The JSON document of a command."""
    return read(output([*arguments, "--format", "json"], inputs))


def _refusals(found: dict[str, Any]) -> str:
    refused = found.get("refused") or []
    reasons = [str(one.get("reason") or one.get("message") or one) for one in refused if isinstance(one, dict)]
    return "; ".join(reasons) or "nothing could be read"
