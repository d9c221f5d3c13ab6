"""The package as part of a process: import, command line, memory, threads, signals."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest
from conftest import ROOT

import assay

ENDLESS = "kernel void k(device uint* o, constant uint& n) { for (uint i = 0; i < n; i++) for (uint j = 0; j < n; j++) o[0] ^= i + j * o[1]; }"


def python(text, **options):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=60, **options)


def test_importing_costs_little():
    # This process's own time: on a busy machine the rest is other programs'.
    done = [python("import time; t = time.process_time(); import assay; print(time.process_time() - t)") for _ in range(3)]
    assert min(float(one.stdout) for one in done) < 0.05
    done = python("import sys, assay; assert 'numpy' not in sys.modules and 'assay._native' not in sys.modules")
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there():
    for name in assay.__all__:
        assert getattr(assay, name) is not None
    with pytest.raises(AttributeError):
        assay.no_such_name


def test_the_program_comes_along():
    done = subprocess.run([sys.executable, "-m", "assay", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"assay {assay.__version__}\n")
    done = subprocess.run([sys.executable, "-m", "assay", "profile", "missing.metal"], capture_output=True, text=True)
    assert done.returncode == 3 and "missing.metal" in done.stderr
    done = subprocess.run([sys.executable, "-m", "assay", "frobnicate"], capture_output=True, text=True)
    assert done.returncode == 2


def test_large_arrays_are_not_copied(scale):
    resource = pytest.importorskip("resource")
    size = 64 << 20
    x = numpy.ones(size, numpy.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # One threadgroup of the last numbers: what costs is binding the array, not running over it.
    tail = assay.compile("kernel void k(device float* x, constant uint& n, uint i [[thread_position_in_grid]]) { x[n - 1 - i] = i; }").k
    tail(x, size, grid=32)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert x[-3:].tolist() == [2, 1, 0] and grown < 64 << 20


def test_a_call_costs_little_beyond_the_run(scale):
    x = numpy.ones(32, numpy.float32)
    scale(x, 1.0, grid=32)
    overheads = []
    for _ in range(4000):
        start = time.perf_counter()
        inside = scale(x, 1.0, grid=32).seconds
        overheads.append(time.perf_counter() - start - inside)
    # The middle one: a busy machine interrupts some calls.
    middle = sorted(overheads)[len(overheads) // 2]
    assert middle < 20e-6, f"{middle * 1e6:.1f} µs"


def test_other_threads_go_on_while_a_kernel_runs():
    kernel = assay.compile(ENDLESS).k
    counted = 0
    done = threading.Event()

    def run():
        kernel(numpy.ones(2, numpy.uint32), 1500, grid=1)
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.wait(0.001):
        counted += 1
    thread.join()
    assert counted >= 3


def interrupted(body):
    """Runs a program that says when it is busy, presses Ctrl-C, and returns its output and how long it lived on."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Shells start what runs in the background with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    while "ready" not in process.stdout.readline():
        assert process.poll() is None
    time.sleep(0.5)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    out = process.communicate(timeout=20)[0]
    return out, time.perf_counter() - start


PRESSED = f"""
import assay, numpy, time
kernel = assay.compile({ENDLESS!r}).k
kernel(numpy.ones(2, numpy.uint32), 2, grid=1, check=True)
print("ready")
try:
    kernel(numpy.ones(2, numpy.uint32), 4_000_000, grid=1{{check}})
except KeyboardInterrupt:
    print("stopped", kernel(numpy.ones(2, numpy.uint32), 3, grid=1).outputs["o"] is not None)
"""


@pytest.mark.parametrize("check", ["", ", check=True", ", counts=True"])
def test_ctrl_c_stops_a_kernel_within_a_second(check):
    out, took = interrupted(PRESSED.replace("{check}", check))
    assert "stopped True" in out
    assert took < 1.5


def test_ctrl_c_stops_a_command_within_a_second():
    body = f"""
    import assay
    source = {ENDLESS!r}
    print("ready")
    try:
        assay.predict(source, launch={{"grid": 1 << 20, "threadgroup": 256, "bytes": {{1: "u32:100000"}}}})
    except KeyboardInterrupt:
        print("stopped")
        import os
        os._exit(0)
    """
    out, took = interrupted(body)
    assert "stopped" in out or "AssayError" in out or "InputError" in out
    assert took < 1.5


def test_a_thread_is_told_that_its_run_was_stopped():
    body = f"""
    import assay, numpy, threading, time
    kernel = assay.compile({ENDLESS!r}).k
    def run():
        try:
            kernel(numpy.ones(2, numpy.uint32), 4_000_000, grid=1)
        except assay.InterruptedRun as error:
            print("thread stopped", error.code)
        done.set()
    done = threading.Event()
    threading.Thread(target=run).start()
    print("ready")
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        print("main too", done.wait(5))
    """
    out, _ = interrupted(body)
    assert "thread stopped 130" in out and "main too True" in out


def test_handlers_are_put_back(scale):
    before = signal.getsignal(signal.SIGINT)
    scale(numpy.ones(4, numpy.float32), 1.0, grid=4)
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)


def test_many_threads_call_one_kernel(scale):
    arrays = [numpy.full(1000, number, numpy.float32) for number in range(16)]
    threads = [threading.Thread(target=lambda x=x: [scale(x, 2.0, grid=1000) for _ in range(20)]) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((x == number * 2.0**20).all() for number, x in enumerate(arrays))


def test_deep_and_hostile_source_does_not_end_the_interpreter():
    deep = "kernel void k(device int* x) { x[0] = " + "(" * 5000 + "1" + ")" * 5000 + "; }"
    for source in (deep, "kernel void k(device int* x) { x[0] = " + "-~" * 4000 + "1; }", "\0" * 10 + "{"):
        try:
            assay.profile(source)
        except assay.AssayError:
            pass


@pytest.mark.skipif(sys.platform != "linux", reason="a Mac has Metal itself")
def test_the_package_has_metals_api_for_programs():
    command = [sys.executable, "-m", "assay", "metal", "run", "--", sys.executable, "main.py"]
    done = subprocess.run(command, cwd=ROOT / "crates/metal/examples", capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, ["10.0", "20.0", "30.0", "40.0"]), done.stderr
