"""JSON documents as objects: attributes for keys, records inside records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


class Record(Mapping[str, Any]):
    """An object of a document. Keys are attributes too; nested objects are records, lists are tuples.

    >>> from assay import Record
    >>> record = Record({"time": {"us": 1.5}, "lines": [{"line": 3}]})
    >>> record.time.us, record["lines"][0].line
    (1.5, 3)
    """

    __slots__ = ("_data",)

    def __init__(self, data: Mapping[str, Any]):
        self._data = data

    def __getitem__(self, key: str) -> Any:
        return wrap(self._data[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return wrap(self._data[name])
        except KeyError:
            known = ", ".join(sorted(self._data))
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {known}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._data})

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={_short(value)}" for key, value in self._data.items())
        return f"{type(self).__name__}({shown})"

    def __getstate__(self) -> Any:
        return self._data

    def __setstate__(self, data: Any) -> None:
        self._data = data

    def to_dict(self) -> dict[str, Any]:
        """The document as plain dictionaries and lists."""
        copied: dict[str, Any] = json.loads(json.dumps(self._data))
        return copied


def wrap(value: Any) -> Any:
    """A value of a document: objects become records, lists tuples."""
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return tuple(wrap(item) for item in value)
    return value


def table(rows: Any) -> Any:
    """Records as a pandas table."""
    try:
        import pandas
    except ImportError:
        from ._errors import MissingError

        raise MissingError("pandas is not installed", "pip install pandas") from None
    return pandas.DataFrame([dict(row) if isinstance(row, Record) else row for row in rows])


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, list):
        return f"[{len(value)}]" if len(value) > 3 or any(isinstance(v, (dict, list)) for v in value) else repr(value)
    return repr(value)
