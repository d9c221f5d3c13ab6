"""Where the GPU's time goes in a program: Instruments recordings, captures, recordings of :mod:`assay.timing`."""

from __future__ import annotations

import os
from typing import Any

from . import _documents
from ._errors import InputError
from ._html import frame
from ._record import Record, table

__all__ = ["Comparison", "Report", "compare", "report"]

#: Parts of a report that are lists of rows.
TABLES = ("labels", "families", "kernels", "other_processes", "counters", "shaders", "clock_states", "thermal_states", "findings")


class Report(Record):
    """A report: the verdict with its evidence, utilisation, gaps, labels, kernels, findings."""

    __slots__ = ("_arguments",)

    def __init__(self, data: dict[str, Any], arguments: list[str]):
        super().__init__(data)
        self._arguments = arguments

    @property
    def verdict(self) -> Record:
        """What limits the program: kind, confidence, summary, evidence."""
        return Record(self._data["verdict"])

    @property
    def utilization(self) -> float:
        """Part of the time that the GPU worked for the program."""
        return float(self._data["gpu"]["utilization"])

    @property
    def findings(self) -> tuple[Record, ...]:
        """What could be better."""
        return tuple(Record(finding) for finding in self._data["findings"])

    def to_pandas(self, part: str = "labels") -> Any:
        """A part of the report as a pandas table: labels, kernels, findings, gaps, phases, …"""
        nested = {"gaps": ("gaps", "longest"), "causes": ("gaps", "causes"), "phases": ("window", "phases")}
        if part in nested:
            outer, inner = nested[part]
            return table(self._data[outer][inner])
        if part not in TABLES:
            raise InputError(f"a report has no table {part!r}", f"it has {', '.join((*TABLES, *nested))}")
        return table(self._data.get(part) or [])

    def text(self) -> str:
        """The report as ``assay trace report`` prints it."""
        return _documents.text(self._arguments)

    def html(self) -> str:
        """The report as a page of its own."""
        return _documents.text([*self._arguments, "--format", "html"])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<trace Report: {self.verdict.kind} ({self.verdict.confidence} confidence): {self.verdict.summary}>"

    def _repr_html_(self) -> str:
        return frame(self.html())


class Comparison(Record):
    """Two recordings side by side."""

    __slots__ = ()

    def to_pandas(self) -> Any:
        """The metrics as a pandas table."""
        return table(self._data["metrics"])


def report(path: str | os.PathLike[str]) -> Report:
    """Reads a recording: an Instruments ``.trace`` (on a Mac), an exported folder, a ``.gputrace``, or a recording of
    :mod:`assay.timing`.

    >>> import assay
    >>> r = assay.trace.report("fixtures/xctrace/baseline")
    >>> r.verdict.kind, round(r.utilization, 3)
    ('launch-bound', 0.029)
    """
    arguments = ["trace", "report", os.fspath(path)]
    return Report(_documents.document(arguments), arguments)


def compare(before: str | os.PathLike[str], after: str | os.PathLike[str]) -> Comparison:
    """Compares two recordings."""
    return Comparison(_documents.document(["trace", "compare", os.fspath(before), os.fspath(after)]))
