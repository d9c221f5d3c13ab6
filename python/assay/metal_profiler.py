"""The API of the package ``metal-profiler``, for programs that used it: same names, same shapes of results.

The figures are Assay's: liveness and loops from the control-flow graph, costs with sources, generated or Apple's code.
``None`` stands where metal-profiler has a number that nothing supports.

>>> from assay.metal_profiler import profile_metal_source, parse_disassembly, analyze
>>> report, disasm = profile_metal_source("kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }", "k")
>>> result = analyze(parse_disassembly(disasm))
>>> result.total_instructions == len(disasm.splitlines()), result.max_threads, result.mem_ops
(True, 1024, 2)
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeVar

from . import _documents, _native
from ._chips import chips
from ._code import disasm as _disasm
from ._errors import InputError, UsageError
from ._profile import Profile, profile

__all__ = [
    "COST_TABLE",
    "DEP_PENALTY",
    "OCCUPANCY_TABLE",
    "Instruction",
    "InstructionCost",
    "Loop",
    "ProfileResult",
    "Unit",
    "analyze",
    "format_report",
    "lookup_cost",
    "occupancy_for_regs",
    "parse_disassembly",
    "profile_metal_file",
    "profile_metal_source",
]


class Unit(Enum):
    """What executes an instruction."""

    F32 = auto()
    F16 = auto()
    SCIB = auto()
    IC = auto()
    MEM = auto()
    CTRL = auto()


_UNITS = {"memory": Unit.MEM, "control": Unit.CTRL, "F32": Unit.F32, "F16": Unit.F16, "SCIB": Unit.SCIB, "IC": Unit.IC}


@dataclass
class InstructionCost:
    """A row of the cost table; ``None`` is not known."""

    unit: Unit
    latency: float | None
    throughput: float | None
    description: str = ""


@dataclass
class Instruction:
    """An instruction of a listing."""

    offset: int
    raw_bytes: str
    mnemonic: str
    operands: str
    cost: InstructionCost
    is_loop_body: bool = False
    loop_depth: int = 0
    defs: list[str] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)
    dep_penalty: float = 0.0
    wait_cycles: float = 0.0


@dataclass
class Loop:
    """A loop."""

    start_offset: int
    end_offset: int
    body_instructions: list[Instruction]
    depth: int
    body_cycles_alu: float = 0.0
    body_cycles_mem: float = 0.0
    body_cycles_dep: float = 0.0
    body_cycles_total: float = 0.0
    mem_loads: int = 0
    mem_stores: int = 0
    has_wait: bool = False
    outstanding_loads_before_wait: int = 0


@dataclass
class ProfileResult:
    """What a listing costs; cycles are modelled."""

    instructions: list[Instruction]
    total_instructions: int = 0
    f32_cycles: float = 0
    f16_cycles: float = 0
    scib_cycles: float = 0
    ic_cycles: float = 0
    mem_ops: int = 0
    ctrl_ops: int = 0
    max_reg: int = 0
    regs_used: set[int] = field(default_factory=set)
    max_live_gprs: int = 0
    half_regs_used: int = 0
    uniform_regs_used: int = 0
    max_threads: int = 1024
    occupancy_pct: float = 100.0
    loops: list[Loop] = field(default_factory=list)
    longest_dep_chain: float = 0.0
    dep_chain_instrs: list[str] = field(default_factory=list)
    total_dep_penalty: float = 0.0
    total_wait_cycles: float = 0.0
    bottleneck: str = ""
    bottleneck_reason: str = ""
    #: The profile behind the figures.
    profile: Profile | None = None


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Table(Mapping[_Key, _Value]):
    """A table that is read when it is first looked at."""

    def __init__(self, read: Callable[[], dict[_Key, _Value]]):
        self._read = functools.cache(read)

    def __getitem__(self, key: _Key) -> _Value:
        return self._read()[key]

    def __iter__(self) -> Iterator[_Key]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


def _costs() -> dict[str, InstructionCost]:
    rows = _documents.document(["chips", "m2", "--costs", "measured"])["costs"]["rows"]
    return {
        row["key"]: InstructionCost(_UNITS[row["unit"]], row["latency"], row["dispatch"], row.get("note", "")) for row in rows
    }


def _penalties() -> dict[Unit, float]:
    chip = chips()["m2"]
    return {Unit.F32: chip["dependence_penalty_32"], Unit.F16: chip["dependence_penalty_16"], Unit.SCIB: 0.0, Unit.IC: 0.0}


#: Costs by row of the table.
COST_TABLE: Mapping[str, InstructionCost] = _Table(_costs)

#: Half registers a thread may use, and threads that fit on a core then.
OCCUPANCY_TABLE: list[tuple[int, int]] = _native.occupancy_steps()

#: Cycles lost when a result is used at once, at full occupancy.
DEP_PENALTY: Mapping[Unit, float] = _Table(_penalties)


def lookup_cost(mnemonic: str) -> InstructionCost:
    """The cost of an instruction by name; of one in several widths, that of the widest of 32 bits or less. An unknown one has
    no numbers.

    >>> from assay.metal_profiler import lookup_cost
    >>> lookup_cost("fmadd32").unit.name, lookup_cost("frobnicate").latency
    ('F32', None)
    """
    for key in (mnemonic, f"{mnemonic}.32", f"{mnemonic}.f32"):
        if key in COST_TABLE:
            return COST_TABLE[key]
    starts = [row for key, row in COST_TABLE.items() if key.startswith(f"{mnemonic}.")]
    if starts:
        return starts[-1]
    try:
        rows = profile(_assembled(mnemonic)).instructions
    except (InputError, UsageError):
        return InstructionCost(Unit.CTRL, None, None, "unknown")
    return COST_TABLE.get(rows[0].cost_row, InstructionCost(Unit.CTRL, None, None, "unknown"))


def occupancy_for_regs(half_regs: int) -> tuple[int, float]:
    """Threads that fit on a core with so many half registers a thread, and that in per cent of 1024.

    >>> from assay.metal_profiler import occupancy_for_regs
    >>> occupancy_for_regs(104), occupancy_for_regs(113)
    ((1024, 100.0), (832, 81.25))
    """
    fitting = [threads for limit, threads in OCCUPANCY_TABLE if half_regs <= limit]
    threads = fitting[0] if fitting else OCCUPANCY_TABLE[-1][1]
    return threads, threads / 1024 * 100


def profile_metal_file(metal_path: str | os.PathLike[str], function_name: str, include_dirs: list[str] | None = None) -> tuple[str, str]:
    """The report of a kernel of a file, and its disassembly."""
    return _profiled(profile(metal_path, function_name, include=include_dirs or ()), metal_path, function_name, include_dirs)


def profile_metal_source(source: str, function_name: str, include_dirs: list[str] | None = None) -> tuple[str, str]:
    """The report of a kernel of source text, and its disassembly."""
    return _profiled(profile(source, function_name, include=include_dirs or ()), source, function_name, include_dirs)


def _profiled(found: Profile, code: Any, function: str, include: list[str] | None) -> tuple[str, str]:
    from ._inputs import resolve

    given = resolve(code)
    words = [word for folder in include or () for word in ("-I", folder)]
    return found.text(), _documents.text(["disasm", given.path, "-f", function, *words], given.inputs)


_LINE = re.compile(r"^\s*([0-9a-fA-F]+):\s+([0-9a-fA-F]+)\s+(\S+)\s*(.*)$")


def parse_disassembly(text: str) -> list[Instruction]:
    """The instructions of a listing: ``offset: hex mnemonic operands`` a line; other lines are left out."""
    found = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            offset, raw, mnemonic, operands = match.groups()
            found.append(Instruction(int(offset, 16), raw, mnemonic, operands.strip(), InstructionCost(Unit.CTRL, None, None)))
    if not found:
        raise InputError("the text holds no instructions", "a line is `offset: hex mnemonic operands`")
    for one, row in zip(found, _disasm(bytes.fromhex("".join(one.raw_bytes for one in found)))):
        one.defs, one.uses = list(row["writes"]), list(row["reads"])
    return found


def analyze(instructions: list[Instruction]) -> ProfileResult:
    """Profiles instructions by their bytes."""
    code = bytes.fromhex("".join(one.raw_bytes for one in instructions))
    found = profile(code)
    rows = {row.offset: row for row in found.instructions}
    start = instructions[0].offset if instructions else 0
    for one in instructions:
        row = rows.get(one.offset - start)
        if row is not None:
            _fill(one, row)
    main, costs = found.main, found.main.once
    limit = found.verdict
    registers = {int(word[1:].rstrip("lh")) for one in instructions for word in one.defs + one.uses if re.match(r"r\d", word)}
    return ProfileResult(
        instructions=instructions,
        total_instructions=len(instructions),
        f32_cycles=costs.f32.known,
        f16_cycles=costs.f16.known,
        scib_cycles=costs.scib.known,
        ic_cycles=costs.ic.known,
        mem_ops=sum(one.cost.unit is Unit.MEM for one in instructions),
        ctrl_ops=sum(one.cost.unit is Unit.CTRL for one in instructions),
        max_reg=max(registers, default=0),
        regs_used=registers,
        max_live_gprs=-(-main.peak_half_registers // 2),
        half_regs_used=main.half_registers,
        uniform_regs_used=-(-main.half_uniforms_read // 2),
        max_threads=found.occupancy.threads,
        occupancy_pct=found.occupancy.share * 100,
        loops=[_loop(loop, instructions, start) for loop in found.loops],
        longest_dep_chain=max((block.critical_path.cycles for block in found.blocks), default=0.0),
        total_dep_penalty=sum(one.dep_penalty for one in instructions),
        total_wait_cycles=sum(one.wait_cycles for one in instructions),
        bottleneck=limit.split(":")[0],
        bottleneck_reason=limit,
        profile=found,
    )


def format_report(result: ProfileResult, kernel_name: str = "kernel") -> str:
    """The report of :func:`analyze`."""
    if result.profile is None:
        raise UsageError("this result was not made by analyze")
    text = result.profile.text()
    return text.replace(result.profile.name or "source", kernel_name, 1)


def _fill(one: Instruction, row: Any) -> None:
    one.cost = InstructionCost(_UNITS.get(row.unit, Unit.CTRL), row.latency, row.issue, row.cost_row)
    one.loop_depth = row.loop_depth
    one.is_loop_body = row.in_loop is not None
    one.dep_penalty = row.raw_penalty
    one.wait_cycles = row.stall or 0.0


def _loop(loop: Any, instructions: list[Instruction], start: int) -> Loop:
    body = [one for one in instructions if loop.start <= one.offset - start < loop.end]
    stall = sum(one.wait_cycles for one in body)
    penalty = sum(one.dep_penalty for one in body)
    alu = loop.costs.issue.known
    return Loop(
        start_offset=loop.start + start,
        end_offset=loop.end + start,
        body_instructions=body,
        depth=loop.depth,
        body_cycles_alu=alu,
        body_cycles_mem=stall,
        body_cycles_dep=penalty,
        body_cycles_total=alu + stall + penalty,
        mem_loads=loop.loads,
        mem_stores=loop.stores,
        has_wait=any(one.mnemonic.startswith("wait") for one in body),
        outstanding_loads_before_wait=loop.loads,
    )


def _assembled(mnemonic: str) -> bytes:
    """An instruction of a name, with any operands it takes."""
    from ._code import assemble

    for operands in ("", " 0", " r0, r1", " r0, r1, r2", " r0, r1, r2, r3"):
        try:
            return assemble(mnemonic + operands).code
        except InputError:
            continue
    raise InputError(f"{mnemonic} is no instruction")
