"""Kernels as functions on arrays."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from . import _compiler, _native
from ._arrays import Slot
from ._errors import CheckFailed, UsageError
from ._inputs import resolve
from ._options import Constants, Defines, Options, constant_list, define_list
from ._record import Record

if TYPE_CHECKING:
    from ._inputs import Code
    from ._predict import Prediction
    from ._profile import Profile

Size = Union[int, Sequence[int]]

#: Threads or threadgroups in each direction, true for threadgroups, and threads of a threadgroup.
Geometry = tuple[tuple[int, int, int], bool, tuple[int, int, int]]

#: Threads of a threadgroup where nothing is said.
DEFAULT_THREADS = 256


@dataclass(frozen=True)
class Argument:
    """What a call binds."""

    name: str
    #: ``buffer`` or ``threadgroup``.
    kind: str
    index: int
    #: The type in the source, ``float4`` or the name of a struct.
    type: str
    #: ``device``, ``constant`` or ``threadgroup``.
    space: str
    #: ``read``, ``write``, ``readwrite`` or ``unknown``.
    access: str
    #: False if the kernel declares it and does not use it: it may be left out.
    required: bool


@dataclass(frozen=True)
class out:
    """An argument that is an array yet to be made, of zeros: ``assay.out((4, 4))``. Its type is the kernel's.

    >>> import assay
    >>> iota = assay.compile("kernel void iota(device uint* o, uint i [[thread_position_in_grid]]) { o[i] = i; }").iota
    >>> iota(assay.out(3), grid=3)["o"]
    array([0, 1, 2], dtype=uint32)
    """

    shape: Any
    dtype: Any = None


class Run:
    """What a call gave: the arrays the kernel may have written, this CPU's time, findings and counts if asked for."""

    def __init__(self, kernel: str, outputs: dict[str, Any], seconds: float, findings: list[Any] | None, counts: Any):
        #: The kernel.
        self.kernel = kernel
        #: The arrays the kernel may write, by the names of its arguments: those that were passed, not copies.
        self.outputs = outputs
        #: How long this CPU took. It says nothing about a GPU.
        self.seconds = seconds
        #: What checking found and did not raise; nothing without ``check``.
        self.findings = None if findings is None else tuple(Record(one) for one in findings)
        #: What simdgroups did: instructions, memory, lines; nothing without ``counts``.
        self.counts = None if counts is None else Record(counts)

    def __getitem__(self, name: str) -> Any:
        return self.outputs[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.outputs.values())

    def __len__(self) -> int:
        return len(self.outputs)

    def __repr__(self) -> str:
        parts = [f"outputs {', '.join(self.outputs) or 'none'}", f"{self.seconds * 1e3:.3f} ms (host)"]
        if self.findings is not None:
            parts.append(f"{len(self.findings)} findings")
        return f"<Run of {self.kernel}: {', '.join(parts)}>"


class Kernel:
    """A kernel that is called like a function.

    Arguments are those of the source that are bound (buffers and constants), by position or name. Arrays are borrowed, not
    copied, and written in place; numbers become the type the kernel declares; ``assay.out(shape)`` makes a new array.
    Anything with the buffer protocol or DLPack in the memory of this CPU is an array.

    >>> import assay, numpy
    >>> axpy = assay.compile('''
    ... kernel void axpy(device const float* x, device float* y, constant float& a, uint i [[thread_position_in_grid]]) {
    ...     y[i] += a * x[i];
    ... }''').axpy
    >>> x, y = numpy.ones(8, numpy.float32), numpy.zeros(8, numpy.float32)
    >>> run = axpy(x, y, a=0.5, grid=8, check=True, counts=True)
    >>> y[0].item(), run.findings, run.counts.device.stores
    (0.5, (), 1)
    """

    def __init__(self, library: Library, native: _native.Kernel):
        self.library = library
        self._native = native
        facts = native.arguments
        self._slots = [Slot(one) for one in facts if one["kind"] == "buffer"]
        self._by_name = {slot.name: slot for slot in self._slots}
        self._memory = {one["name"]: one["index"] for one in facts if one["kind"] == "threadgroup"}
        #: What a call binds, in the order of the source.
        self.arguments = tuple(
            Argument(
                one["name"], one["kind"], one["index"], one["type"], one["space"] or "", one["access"], one["required"]
            )
            for one in facts
        )

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._native.name

    @property
    def max_threads(self) -> int:
        """Most threads of a threadgroup."""
        return self._native.max_threads

    @property
    def constants(self) -> list[str]:
        """The function constants as ``KEY=TYPE:VALUE``."""
        return list(self._native.constants)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{one.space} {one.type} {one.name}" for one in self.arguments)
        return f"<Kernel {self.name}({arguments})>"

    def __call__(
        self,
        *arguments: Any,
        grid: Size | None = None,
        groups: Size | None = None,
        threadgroup: Size | None = None,
        threadgroup_memory: Mapping[str | int, int] | None = None,
        check: bool | str = False,
        counts: bool = False,
        **named: Any,
    ) -> Run:
        """Runs the kernel on this CPU, with the arithmetic of Apple GPUs.

        ``grid`` is the number of threads, ``groups`` the number of threadgroups instead; one to three numbers.
        With ``check`` the run is slow and finds accesses outside buffers, races, barriers not all threads reach, memory never
        written: errors are raised as :class:`assay.CheckFailed`, or only listed with ``check="report"``. With ``counts`` the
        run has counts of instructions and memory accesses.
        """
        slots = self._slots
        if len(arguments) > len(slots):
            raise UsageError(f"{self.name} takes {len(slots)} arguments, {len(arguments)} are given", self._signature())
        pairs: Iterable[tuple[Slot, Any]] = zip(slots, arguments)
        if named or len(arguments) < len(slots):
            pairs = self._with_names(dict(pairs), named)
        sizes = self._sizes(threadgroup_memory) if self._memory or threadgroup_memory else []
        return self.dispatch(pairs, self._geometry(grid, groups, threadgroup), sizes, check, counts)

    def dispatch(
        self,
        pairs: Iterable[tuple[Slot, Any]],
        geometry: Geometry,
        sizes: list[tuple[int, int]],
        check: bool | str,
        counts: bool,
    ) -> Run:
        """Runs the kernel with values for its arguments."""
        bound: list[tuple[int, Any]] = []
        outputs: dict[str, Any] = {}
        for slot, value in pairs:
            if isinstance(value, out):
                value = slot.allocate(value.shape, value.dtype)
            bound.append((slot.index, slot.bind(value)))
            if slot.writes:
                outputs[slot.name] = value
        extent, is_groups, group = geometry
        seconds, findings, counted = self._native.run(bound, sizes, extent, is_groups, group, bool(check), counts)
        found = None if findings is None else json.loads(findings)
        if found and check != "report":
            errors = [one for one in found if one["severity"] == "error"]
            if errors:
                more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
                raise CheckFailed(f"{errors[0]['kind']}: {errors[0]['message']}{more}", None, {"findings": found})
        return Run(self.name, outputs, seconds, found, None if counted is None else json.loads(counted))

    def _with_names(self, values: dict[Slot, Any], named: dict[str, Any]) -> Iterable[tuple[Slot, Any]]:
        for name, value in named.items():
            slot = self._by_name.get(name)
            if slot is None:
                raise UsageError(f"{self.name} has no argument {name!r}", self._signature())
            if slot in values:
                raise UsageError(f"{self.name}: argument {name!r} is given twice")
            values[slot] = value
        missing = [slot.name for slot in self._slots if slot not in values and slot.required]
        if missing:
            raise UsageError(f"{self.name}: missing {', '.join(map(repr, missing))}", self._signature())
        return values.items()

    def _geometry(self, grid: Size | None, groups: Size | None, threadgroup: Size | None) -> Geometry:
        if (grid is None) == (groups is None):
            raise UsageError(
                f"{self.name}: say how many threads there are",
                "grid=(x, y, z) counts threads, groups=(x, y, z) threadgroups",
            )
        extent = triple("grid", grid) if grid is not None else triple("groups", groups)
        if threadgroup is not None:
            return extent, grid is None, triple("threadgroup", threadgroup)
        most = min(DEFAULT_THREADS, self.max_threads)
        return extent, grid is None, (most if grid is None else min(extent[0], most), 1, 1)

    def _sizes(self, given: Mapping[str | int, int] | None) -> list[tuple[int, int]]:
        sizes: dict[int, int] = {}
        for key, size in (given or {}).items():
            index = self._memory.get(key) if isinstance(key, str) else key
            if index is None or index not in self._memory.values():
                known = ", ".join(f"{name!r} ({index})" for name, index in self._memory.items()) or "none"
                raise UsageError(f"{self.name} has no threadgroup memory {key!r}", f"there is {known}")
            sizes[index] = int(size)
        missing = [name for name, index in self._memory.items() if index not in sizes]
        if missing:
            raise UsageError(
                f"{self.name}: the size of threadgroup memory {', '.join(map(repr, missing))} is missing",
                f"threadgroup_memory={{{missing[0]!r}: bytes}}",
            )
        return list(sizes.items())

    def _signature(self) -> str:
        parts = ", ".join(f"{slot.name}: {slot.space} {slot.type}" for slot in self._slots)
        return f"it is {self.name}({parts})"

    def profile(self, chip: str = "m2", launch: Any = None, **options: Any) -> Profile:
        """What the kernel costs: :func:`assay.profile` of it."""
        from ._profile import profile

        return profile(self, chip=chip, launch=launch, **options)

    def predict(self, *arguments: Any, chip: Any = "m2", **options: Any) -> Prediction:
        """The predicted GPU time of a call with these arguments, given as to the kernel itself."""
        from ._predict import predict

        launch = self.launch(*arguments, **options)
        return predict(self, chip=chip, launch=launch)

    def launch(
        self,
        *arguments: Any,
        grid: Size | None = None,
        groups: Size | None = None,
        threadgroup: Size | None = None,
        threadgroup_memory: Mapping[str | int, int] | None = None,
        **named: Any,
    ) -> dict[str, Any]:
        """A call described as a launch, for :func:`assay.predict` and :func:`assay.profile`. Whole numbers are taken
        along, since they may decide what the kernel does; of other arrays only type and size are."""
        pairs = self._with_names(dict(zip(self._slots, arguments)), named)
        sizes = self._sizes(threadgroup_memory) if self._memory else []
        return describe(pairs, self._geometry(grid, groups, threadgroup), sizes)

    @property
    def slots(self) -> list[Slot]:
        """The arguments that are memory, in the order of the source."""
        return self._slots


def describe(pairs: Iterable[tuple[Slot, Any]], geometry: Geometry, sizes: list[tuple[int, int]]) -> dict[str, Any]:
    """A call as a launch."""
    buffers: dict[int, Any] = {}
    scalars: dict[int, Any] = {}
    for slot, value in pairs:
        if isinstance(value, out):
            value = slot.allocate(value.shape, value.dtype)
        memory = slot.bind(value)
        if isinstance(memory, (bytes, bytearray)):
            scalars[slot.index] = "u8:" + ",".join(map(str, memory))
        elif memory.dtype.kind in "iub":
            buffers[slot.index] = memory
        else:
            element = {2: "f16", 4: "f32"}.get(memory.dtype.itemsize, "f32")
            buffers[slot.index] = f"random:{element}:{max(memory.size, 1)}"
    extent, is_groups, group = geometry
    key = "groups" if is_groups else "grid"
    return {key: extent, "threadgroup": group, "buffers": buffers, "bytes": scalars, "threadgroup_memory": dict(sizes)}


class Library:
    """Compiled source or a metallib. Kernels are attributes and items.

    >>> import assay
    >>> library = assay.compile("kernel void a() {} kernel void b() {}")
    >>> list(library), library.a.name, library["b"].name
    (['a', 'b'], 'a', 'b')
    """

    def __init__(self, native: _native.Library, path: str, inputs: list[tuple[str, bytes]], options: Options):
        self._native = native
        self._kernels: dict[tuple[str, tuple[str, ...]], Kernel] = {}
        #: The path, or the name of source in memory.
        self.path = path
        #: Source in memory.
        self.inputs = inputs
        #: How it was compiled.
        self.options = options
        #: The names of the kernels.
        self.names: tuple[str, ...] = tuple(native.names)

    def kernel(self, name: str | None = None, constants: Constants = None) -> Kernel:
        """A kernel, with values for its function constants: ``{"name": 3}`` or ``{0: "uint:3"}``."""
        if name is None:
            if len(self.names) != 1:
                raise UsageError(f"there are {len(self.names)} kernels", f"choose one: {', '.join(self.names[:20])}")
            name = self.names[0]
        given = constant_list(constants)
        key = (name, tuple(given))
        if key not in self._kernels:
            self._kernels[key] = Kernel(self, self._native.kernel(name, given))
        return self._kernels[key]

    def __getitem__(self, name: str) -> Kernel:
        return self.kernel(name)

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_") or name not in self.names:
            raise AttributeError(f"the library has no kernel {name!r}; it has {', '.join(self.names[:20])}")
        return self.kernel(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.names})

    def __repr__(self) -> str:
        return f"<Library {self.path}: {', '.join(self.names[:8])}{', …' if len(self.names) > 8 else ''}>"


def compile(
    source: Code,
    *,
    defines: Defines = None,
    include: Iterable[str | os.PathLike[str]] = (),
    include_files: Iterable[str | os.PathLike[str]] = (),
    std: str = "metal3.1",
    fast_math: bool = True,
) -> Library:
    """Compiles Metal source (text, or a path) with this machine's clang. Errors are :class:`assay.SourceError`.

    >>> import assay
    >>> assay.compile("kernel void k(device T* x) { x[0] = N; }", defines={"T": "half", "N": 2})
    <Library source.metal: k>
    """
    given = resolve(source)
    data = given.inputs[0][1] if given.inputs else _read(given.path)
    folders, files = [os.fspath(one) for one in include], [os.fspath(one) for one in include_files]
    macros = define_list(defines)
    _compiler.provide()
    native = _native.Library(
        given.path,
        data,
        defines=macros,
        include_folders=folders,
        include_files=files,
        std=std,
        fast_math=fast_math,
    )
    options = Options(macros, folders, files, std, fast_math)
    return Library(native, given.path, given.inputs, options)


def load(file: Code) -> Library:
    """Opens a metallib or LLVM bitcode: a path, or its bytes."""
    return compile(file)


def triple(name: str, value: Any) -> tuple[int, int, int]:
    """One to three positive numbers as three."""
    numbers = (value,) if isinstance(value, int) else tuple(value)
    if not 1 <= len(numbers) <= 3:
        raise UsageError(f"{name} has one to three numbers, {len(numbers)} are given")
    padded = [*numbers, 1, 1][:3]
    for number in padded:
        if not 0 < int(number) < 1 << 32:
            raise UsageError(f"{name}: {number} is not between 1 and 2³²")
    return int(padded[0]), int(padded[1]), int(padded[2])


def _read(path: str) -> bytes:
    from ._errors import InputError

    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
