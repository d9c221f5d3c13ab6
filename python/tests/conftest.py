import pathlib
import signal

import numpy
import pytest

import assay

# Shells start what runs in the background with SIGINT ignored; Python then installs no handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ROOT / "examples/kernels"

SCALE = """kernel void scale(device float* x, constant float& by, uint i [[thread_position_in_grid]]) {
    x[i] *= by;
}
"""


@pytest.fixture(scope="session")
def scale():
    """`x[i] *= by`."""
    return assay.compile(SCALE).scale


@pytest.fixture
def random():
    return numpy.random.default_rng(7)
