"""The benchmark, metal-profiler's API, traces and the recorder."""

import numpy
import pytest
from conftest import KERNELS, ROOT, SCALE

import assay
from assay import metal_profiler, timing


def test_a_right_candidate_is_timed_against_its_reference():
    result = assay.bench(lambda x: numpy.sort(x), lambda x: numpy.sort(x, kind="stable"), sizes=[100, (10, 20)], seconds=0.05)
    assert result.right and [row.size for row in result] == [100, (10, 20)]
    assert all(row.verdict in ("faster", "slower", "tie") and row.speedup_low <= row.speedup <= row.speedup_high for row in result)
    assert "speedup" in str(result) and len(result.to_dict()) == 2


def test_a_slower_candidate_is_called_slower():
    import time

    def slow(x):
        time.sleep(0.002)
        return x

    row = assay.bench(slow, lambda x: x, sizes=[10], seconds=0.2)[0]
    assert row.verdict == "slower" and row.speedup < 0.5


@pytest.mark.parametrize(
    "wrong", [lambda x: x * 1.001, lambda x: x[:-1], lambda x: numpy.where(x > 1, numpy.nan, x), lambda x: (x, x), lambda x: x + (x > 2)]
)
def test_a_wrong_candidate_is_not_timed(wrong):
    row = assay.bench(wrong, lambda x: x, sizes=[2000])[0]
    assert row.verdict == "wrong" and row.why and row.seconds is None and not row.right


def test_a_kernel_is_a_candidate(scale):
    def make(size, random):
        return (random.standard_normal(size).astype("float32"), 3.0), {"grid": size}

    def reference(x, by, grid):
        return x * numpy.float32(by)

    assert assay.bench(scale, reference, sizes=[500], make=make, seconds=0.05).right
    with pytest.raises(assay.UsageError, match="needs a grid"):
        assay.bench(scale, reference, sizes=[500])


def test_metal_profilers_functions_have_its_shapes():
    path = KERNELS / "matmul_naive.metal"
    report, disasm = metal_profiler.profile_metal_file(str(path), "matmul_naive")
    assert "matmul_naive" in report
    same = metal_profiler.profile_metal_source(path.read_text(), "matmul_naive")
    assert same[1].splitlines()[-1].split()[1:] == disasm.splitlines()[-1].split()[1:]
    instructions = metal_profiler.parse_disassembly(disasm)
    assert instructions[-1].mnemonic == "stop"
    result = metal_profiler.analyze(instructions)
    assert result.total_instructions == len(instructions) and result.max_threads == 1024 and result.occupancy_pct == 100.0
    assert len(result.loops) == 1 and result.loops[0].mem_loads >= 2 and result.loops[0].has_wait
    assert result.f32_cycles > 0 and result.mem_ops >= 3 and 0 in result.regs_used
    assert "my_kernel" in metal_profiler.format_report(result, "my_kernel")


def test_metal_profilers_tables_are_ours():
    assert metal_profiler.OCCUPANCY_TABLE[0] == (104, 1024)
    assert metal_profiler.DEP_PENALTY[metal_profiler.Unit.F32] == assay.chips()["m2"]["dependence_penalty_32"]
    assert metal_profiler.COST_TABLE["fadd32"].unit is metal_profiler.Unit.F32
    assert metal_profiler.lookup_cost("device_load").unit is metal_profiler.Unit.MEM
    assert metal_profiler.lookup_cost("rsqrt").throughput is not None
    with pytest.raises(assay.InputError, match="no instructions"):
        metal_profiler.parse_disassembly("nothing here")


def test_traces_are_objects_with_tables():
    report = assay.trace.report(ROOT / "fixtures/xctrace/baseline")
    assert report.verdict.kind == "launch-bound" and report.gaps.count == 999
    assert report.findings[0].advice
    assert "launch-bound" in report.text()
    pytest.importorskip("pandas")
    assert list(report.to_pandas("labels")["count"]) and len(report.to_pandas("gaps")) == 8
    with pytest.raises(assay.InputError, match="no table 'lables'"):
        report.to_pandas("lables")
    with pytest.raises(assay.AssayError):
        assay.trace.report("no/such/folder")


def test_a_recording_goes_to_the_trace_report(tmp_path):
    recorder = timing.Recorder()
    for number in range(20):
        start = 1_000_000 * (number + 1)
        buffer = recorder.command_buffer("decode", start, start + 400_000, committed_ns=start - 20_000)
        recorder.dispatch(buffer, "decode", "matmul", 0, start, start + 390_000)
    assert recorder.summary()["labels"][0]["count"] == 20
    recorder.save(tmp_path / "run.recording.json")
    report = assay.trace.report(tmp_path / "run.recording.json")
    assert report.intervals.command_buffers == 20 and 0.3 < report.utilization < 0.5
    for format in ("text", "json", "csv", "dispatch-csv", "chrome"):
        assert "decode" in recorder.export(format)
    recorder.reset()
    assert not recorder.summary()["labels"]
    with pytest.raises(assay.UsageError, match="not exported as `xml`"):
        recorder.export("xml")
    with pytest.raises(assay.UsageError, match="no source of times"):
        timing.Recorder("guessed")


def test_the_hosts_clock_times_blocks_and_functions():
    recorder = timing.Recorder(source="host")

    @recorder.timed
    def work(x):
        """Doubles."""
        return 2 * x

    assert work(4) == 8 and work.__doc__ == "Doubles."
    with pytest.raises(ZeroDivisionError), recorder.time("block"):
        1 / 0
    assert {label["label"].split(".")[-1] for label in recorder.summary()["labels"]} == {"work", "block"}
    assert "host" in str(recorder)
