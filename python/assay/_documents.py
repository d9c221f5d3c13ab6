"""Commands of the program as functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from . import _compiler, _native
from ._errors import InputError


def text(arguments: Sequence[str], inputs: Sequence[tuple[str, bytes]] = ()) -> str:
    """What a command prints."""
    return output(arguments, inputs)[1].decode()


def output(arguments: Sequence[str], inputs: Sequence[tuple[str, bytes]] = ()) -> tuple[int, bytes]:
    """The exit code of a command (0 or 1), and what it prints."""
    _compiler.provide()
    return _native.call([str(word) for word in arguments], list(inputs))


def document(arguments: Sequence[str], inputs: Sequence[tuple[str, bytes]] = ()) -> dict[str, Any]:
    """The JSON document of a command."""
    code, printed = output([*arguments, "--format", "json"], inputs)
    read: dict[str, Any] = json.loads(printed)
    if code not in (0, 1):
        raise InputError(_refusals(read))
    return read


def _refusals(read: dict[str, Any]) -> str:
    refused = read.get("refused") or []
    reasons = [str(one.get("reason") or one.get("message") or one) for one in refused if isinstance(one, dict)]
    return "; ".join(reasons) or "nothing could be read"
