"""The chips' figures, and manual pages of findings."""

from __future__ import annotations

from typing import Any

from . import _documents
from ._record import Record


class Chip(Record):
    """A chip: its figures are attributes, each with value, unit and source.

    >>> import assay
    >>> m2 = assay.chips()["m2"]
    >>> m2.title, m2.figures.cores.value
    ('Apple M2', 10.0)
    >>> m2["clock_ghz"] > 1
    True
    """

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        if key not in self._data and key in self._data["figures"]:
            return self._data["figures"][key]["value"]
        return super().__getitem__(key)


def chips() -> dict[str, Chip]:
    """All chips by name."""
    read = _documents.document(["chips"])
    return {chip["name"]: Chip(chip) for chip in read["chips"]}


def explain(rule: str) -> str:
    """The manual page of a finding or a word of the reports.

    >>> import assay
    >>> print(assay.explain("tile-loads").splitlines()[0])
    tile-loads
    """
    return _documents.text(["explain", rule])
