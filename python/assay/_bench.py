"""Is it right, and how fast: any callable against any other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import _native
from ._errors import UsageError
from ._html import preformatted
from ._library import Kernel, Run

#: How far results may be off, relative to the largest number of the result, by type.
TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-9, "uint16": 3e-2}


@dataclass(frozen=True)
class BenchRow:
    """One size: whether the candidate is right, and its time against the reference's. Times are this machine's."""

    size: Any
    right: bool
    #: The largest error relative to the largest number of the result, over all rounds.
    error: float
    #: Why it is wrong, or nothing.
    why: str
    #: ``faster``, ``slower``, ``tie``, ``wrong`` or ``alone``.
    verdict: str
    #: Median seconds, with the interval that holds the true median in 95 of 100 cases.
    seconds: float | None = None
    seconds_low: float | None = None
    seconds_high: float | None = None
    reference_seconds: float | None = None
    #: How many times faster than the reference, with its interval.
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None


class Bench(Sequence[BenchRow]):
    """Rows of a benchmark, one a size."""

    def __init__(self, rows: list[BenchRow]):
        self.rows = tuple(rows)

    @property
    def right(self) -> bool:
        """True if the candidate is right at every size."""
        return all(row.right for row in self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[BenchRow]:
        return iter(self.rows)

    def to_dict(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [asdict(row) for row in self.rows]

    def to_pandas(self) -> Any:
        """The rows as a pandas table."""
        from ._record import table

        return table(self.to_dict())

    def __str__(self) -> str:
        lines = [f"{'size':>16}  {'verdict':<8}{'time (host)':>14}{'reference':>14}  speedup"]
        for row in self.rows:
            ratio = "" if row.speedup is None else f"{row.speedup:.2f}× ({row.speedup_low:.2f} to {row.speedup_high:.2f})"
            lines.append(
                f"{row.size!s:>16}  {row.verdict:<8}{_time(row.seconds):>14}{_time(row.reference_seconds):>14}  {ratio or row.why}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def bench(
    candidate: Callable[..., Any],
    reference: Callable[..., Any] | None = None,
    sizes: Iterable[Any] = (1 << 16,),
    *,
    make: Callable[[Any, Any], Any] | None = None,
    tolerance: float | None = None,
    rounds: int = 3,
    samples: int = 15,
    seconds: float = 2.0,
    least: float = 0.02,
) -> Bench:
    """Compares what two callables compute, then how long they take, in turns, on fresh inputs each time.

    ``make(size, random)`` returns the arguments (a tuple, or a tuple and a dictionary of keywords) for a size, with a NumPy
    random generator; without it they are one float32 array of that size or shape. Results are what is returned: an
    array, several, or the outputs of a :class:`assay.Run`. A wrong candidate is not timed. At least 12 pairs of
    samples decide, and differences below ``least`` are a tie. Times are this machine's, not a GPU's.

    >>> import assay, numpy
    >>> result = assay.bench(lambda x: x + x, lambda x: 2 * x, sizes=[1000], seconds=0.1)
    >>> result.right, result[0].error
    (True, 0.0)
    >>> assay.bench(lambda x: x + 1, lambda x: x, sizes=[10])[0].verdict
    'wrong'
    """
    if rounds < 1 or samples < 1:
        raise UsageError("rounds and samples are at least 1")
    arguments = make or _numbers
    rows = []
    for size in sizes:
        error, why = 0.0, ""
        if reference is not None:
            error, why = _gate(candidate, reference, size, arguments, tolerance, rounds)
        if why:
            rows.append(BenchRow(size, False, error, why, "wrong"))
            continue
        rows.append(_measure(candidate, reference, size, arguments, error, samples, seconds, least))
    return Bench(rows)


def _numbers(size: Any, random: Any) -> Any:
    return (random.standard_normal(size).astype("float32"),)


def _call(function: Callable[..., Any], given: Any) -> Any:
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], dict) and isinstance(given[0], tuple):
        return function(*given[0], **given[1])
    if not isinstance(given, tuple):
        given = (given,)
    if isinstance(function, Kernel):
        raise UsageError(f"{function.name} needs a grid", "let make return ((arguments…), {'grid': …, 'threadgroup': …})")
    return function(*given)


def _copy(given: Any) -> Any:
    if isinstance(given, tuple):
        return tuple(_copy(one) for one in given)
    if isinstance(given, dict):
        return {name: _copy(value) for name, value in given.items()}
    return given.copy() if hasattr(given, "copy") and hasattr(given, "dtype") else given


def _outputs(result: Any) -> list[Any]:
    import numpy

    if isinstance(result, Run):
        result = list(result)
    results = result if isinstance(result, (list, tuple)) else [result]
    return [numpy.asarray(one) for one in results]


def _gate(
    candidate: Callable[..., Any], reference: Callable[..., Any], size: Any, make: Any, tolerance: float | None, rounds: int
) -> tuple[float, str]:
    """The largest error, and why the candidate is wrong, if it is."""
    import numpy

    worst = 0.0
    for seed in range(rounds):
        given = make(size, numpy.random.default_rng(seed))
        found = _outputs(_call(candidate, _copy(given)))
        expected = _outputs(_call(reference, _copy(given)))
        if len(found) != len(expected):
            return worst, f"{len(found)} results instead of {len(expected)}"
        for number, (one, other) in enumerate(zip(found, expected)):
            error, why = _compare(one, other, tolerance)
            worst = max(worst, error)
            if why:
                return worst, f"result {number}: {why}" if len(found) > 1 else why
    return worst, ""


def _compare(found: Any, expected: Any, tolerance: float | None) -> tuple[float, str]:
    import numpy

    if found.shape != expected.shape:
        return numpy.inf, f"shape {found.shape} instead of {expected.shape}"
    if found.dtype.kind in "iub" and expected.dtype.kind in "iub":
        wrong = int((found != expected).sum())
        return float(wrong), f"{wrong} of {found.size} numbers differ" if wrong else ""
    allowed = TOLERANCES.get(found.dtype.name, 2e-5) if tolerance is None else tolerance
    a, b = found.astype("float64"), expected.astype("float64")
    strange = int((numpy.isfinite(a) != numpy.isfinite(b)).sum())
    if strange:
        return numpy.inf, f"{strange} of {a.size} numbers are infinite or NaN and should not be, or the other way round"
    if not numpy.array_equal(numpy.isnan(a), numpy.isnan(b)) or not numpy.array_equal(a[numpy.isinf(a)], b[numpy.isinf(b)]):
        return numpy.inf, "infinities or NaN of another kind"
    finite = numpy.isfinite(b)
    if not finite.any():
        return 0.0, ""
    scale = float(numpy.abs(b[finite]).max()) or 1.0
    errors = numpy.abs(a - b, where=finite, out=numpy.zeros_like(a)) if not finite.all() else numpy.abs(a - b)
    error = float(errors.max()) / scale
    if error > allowed:
        place = numpy.unravel_index(int(errors.argmax()), a.shape)
        return error, f"off by {error:.2g} of the largest number at {tuple(map(int, place))}: {a[place]:g} instead of {b[place]:g}"
    return error, ""


def _measure(
    candidate: Callable[..., Any],
    reference: Callable[..., Any] | None,
    size: Any,
    make: Any,
    error: float,
    samples: int,
    seconds: float,
    least: float,
) -> BenchRow:
    import numpy

    random = numpy.random.default_rng(len(str(size)))
    turns = [candidate] if reference is None else [candidate, reference]
    times: list[list[float]] = [[] for _ in turns]
    end = time.perf_counter() + seconds
    fewest = min(samples, 12)
    for number in range(samples + 1):
        given = make(size, random)
        for place, function in enumerate(turns):
            own = _copy(given)
            start = time.perf_counter()
            _call(function, own)
            taken = time.perf_counter() - start
            # The first of each only warms caches up.
            if number:
                times[place].append(max(taken, 1e-9))
        if number >= fewest and time.perf_counter() > end:
            break
    own_summary = _native.summary(times[0])
    low, value, high = own_summary[2] if own_summary else (None, None, None)
    if reference is None:
        return BenchRow(size, True, error, "", "alone", value, low, high)
    other = _native.summary(times[1])
    ratio = _native.race(times[1], times[0], least)
    ratio_low, ratio_value, ratio_high, order = ratio if ratio else (None, None, None, "tie")
    verdict = {"first": "slower", "second": "faster"}.get(order, "tie")
    reference_seconds = other[2][1] if other else None
    return BenchRow(size, True, error, "", verdict, value, low, high, reference_seconds, ratio_value, ratio_low, ratio_high)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"
