"""GPU time recorded inside a program: counts, totals, percentiles, gaps.

>>> from assay import timing
>>> recorder = timing.Recorder(source="modelled")
>>> for ns in (41_000, 43_000): recorder.record("attention", ns)
>>> recorder.summary()["labels"][0]["count"]
2

A program that knows when its command buffers started and ended on the GPU records those; one that does not can time
blocks and functions with the host's clock, which a recorder with ``source="host"`` says.

>>> host = timing.Recorder(source="host")
>>> with host.time("block"): pass
>>> @host.timed
... def work(): return 3
>>> work(), [label["label"] for label in host.summary()["labels"]] != []
(3, True)
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from . import _native
from ._html import preformatted

__all__ = ["Recorder"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Formats of exports by the end of a file's name.
_FORMATS = {".json": "json", ".csv": "csv", ".txt": "text", ".trace.json": "chrome", ".recording.json": "recording"}


class Recorder:
    """Records times by label. ``source`` is ``measured`` (a GPU's clock), ``modelled`` or ``host``."""

    def __init__(self, source: str = "measured"):
        self._native = _native.Recorder(source)

    def record(self, label: str, ns: int) -> None:
        """Adds a duration in nanoseconds."""
        self._native.record(label, ns)

    def command_buffer(self, label: str, start_ns: int, end_ns: int, committed_ns: int | None = None) -> int:
        """Adds a command buffer with its times on the GPU's clock, and returns its number."""
        return self._native.command_buffer(label, start_ns, end_ns, committed_ns)

    def dispatch(self, command_buffer: int, label: str, kernel: str, index: int, start_ns: int, end_ns: int) -> None:
        """Adds a dispatch of a command buffer."""
        self._native.dispatch(command_buffer, label, kernel, index, start_ns, end_ns)

    @contextlib.contextmanager
    def time(self, label: str) -> Iterator[None]:
        """Times a block with the host's clock."""
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            self._native.record(label, max(time.perf_counter_ns() - start, 1))

    def timed(self, function: _Function) -> _Function:
        """A function that is timed with the host's clock whenever it is called."""
        label = getattr(function, "__qualname__", "function")

        @functools.wraps(function)
        def wrapper(*arguments: Any, **named: Any) -> Any:
            with self.time(label):
                return function(*arguments, **named)

        return wrapper  # type: ignore[return-value]

    def reset(self) -> None:
        """Forgets everything recorded."""
        self._native.reset()

    def summary(self) -> dict[str, Any]:
        """Everything recorded, as a document."""
        document: dict[str, Any] = json.loads(self._native.export("json"))
        return document

    def export(self, format: str = "text") -> str:
        """Everything recorded as ``text``, ``json``, ``csv``, ``dispatch-csv``, ``chrome`` (Perfetto) or ``recording`` (for
        :func:`assay.trace.report`)."""
        return self._native.export(format)

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes an export; the format is known from the file's name: ``.json``, ``.csv``, ``.txt``, ``.trace.json`` for
        Perfetto, ``.recording.json`` for :func:`assay.trace.report`."""
        name = os.fspath(path)
        ends = sorted(_FORMATS, key=len, reverse=True)
        known = next((_FORMATS[end] for end in ends if name.endswith(end)), "text")
        with open(name, "w", encoding="utf-8") as file:
            file.write(self.export(format or known))

    def __str__(self) -> str:
        return self.export("text")

    def _repr_html_(self) -> str:
        return preformatted(str(self))
