"""What can go wrong, as exceptions: the code of each is the exit code of the program ``assay``.

1 the kernel examined failed, 2 something was called wrongly, 3 bad or unreadable input, 4 something is missing on this
machine, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import json
import re
from typing import Any


class AssayError(Exception):
    """The root of all exceptions of this package."""

    #: The exit code the program ``assay`` would end with.
    code: int = 3

    def __init__(self, message: str, advice: str | None = None, details: dict[str, Any] | None = None):
        super().__init__(message if advice is None else f"{message}\n{advice}")
        #: What happened.
        self.message = message
        #: What to do about it, if something can be done.
        self.advice = advice
        #: The same for programs.
        self.details = details or {}


class VerdictError(AssayError):
    """The thing examined failed: a fault, a wrong result, a regression."""

    code = 1


class KernelFault(VerdictError):
    """A kernel did something that ends a run, such as an access outside its buffer.

    >>> import assay, numpy
    >>> kernel = assay.compile("kernel void k(device int* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }").k
    >>> try:
    ...     kernel(numpy.zeros(3, numpy.int32), grid=4)
    ... except assay.KernelFault as fault:
    ...     print(fault.line, fault.thread)
    1 (3, 0, 0)
    """

    @property
    def kernel(self) -> str:
        """The kernel."""
        return str(self.details.get("kernel", ""))

    @property
    def place(self) -> str | None:
        """File, line and column in the source, where known."""
        place = self.details.get("place")
        return None if place is None else str(place)

    @property
    def line(self) -> int | None:
        """The line in the source, where known."""
        return line_of(self.place)

    @property
    def thread(self) -> tuple[int, int, int] | None:
        """Position in the grid of the thread that did it."""
        thread = self.details.get("thread")
        return None if thread is None else (int(thread[0]), int(thread[1]), int(thread[2]))


class CheckFailed(VerdictError):
    """A checked run found mistakes; ``findings`` has them, each with kind, place, thread and message."""

    @property
    def findings(self) -> tuple[dict[str, Any], ...]:
        """What was found."""
        return tuple(self.details.get("findings", ()))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of what was found: ``race``, ``out-of-bounds``, …"""
        return tuple(str(finding["kind"]) for finding in self.findings)


class UsageError(AssayError, ValueError):
    """Something was called in a way that makes no sense: wrong types, shapes, names or numbers."""

    code = 2


class InputError(AssayError, ValueError):
    """Bad or unreadable input."""

    code = 3


class SourceError(InputError):
    """Errors in Metal source; ``errors`` has them with file, line, column and text of the line."""

    @property
    def errors(self) -> tuple[dict[str, Any], ...]:
        """The compiler's errors."""
        return tuple(self.details.get("errors", ()))


class MissingError(AssayError):
    """Something is missing on this machine: a clang, a Mac, a GPU. The advice says how to get it."""

    code = 4


class InterruptedRun(AssayError):
    """A run was stopped by Ctrl-C in a thread that cannot raise KeyboardInterrupt."""

    code = 130


_CLASSES: dict[int, type[AssayError]] = {1: VerdictError, 2: UsageError, 3: InputError, 4: MissingError, 130: InterruptedRun}


def from_document(text: str) -> AssayError:
    """The exception of a document ``assay.error``."""
    error = json.loads(text)["error"]
    details = error.get("details") or {}
    kind = _CLASSES.get(error.get("exit_code", 3), InputError)
    if kind is VerdictError and "fault" in details:
        kind = KernelFault
    elif kind is InputError and "errors" in details:
        kind = SourceError
    return kind(error["message"], error.get("advice"), details)


def line_of(place: str | None) -> int | None:
    """The line of ``file:line`` or ``file:line:column``."""
    found = re.search(r":(\d+)(?::\d+)?$", place or "")
    return int(found.group(1)) if found else None
