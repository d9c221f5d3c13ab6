"""What tests share: a PostgreSQL server, a fleet with two workers, a kernel that takes long."""

import pytest
from servers import Nats, Postgres, Worker

# Runs for half a minute or so: long enough to be killed, cancelled or timed out.
SLOW = """// assay: launch slow --grid 64 --threadgroup 64 --buffer 0=zeros:f32:64
#include <metal_stdlib>
using namespace metal;
kernel void slow(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float sum = out[i];
    for (uint n = 0; n < 4000000000u; n++) { sum = fma(sum, 0.999f, float(n & 7u)); }
    out[i] = sum;
}
"""


@pytest.fixture(scope="session")
def postgres():
    server = Postgres().start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A server with two workers."""
    folder = tmp_path_factory.mktemp("fleet")
    server = Nats(folder / "server").start()
    workers = [Worker(server, name, folder) for name in ("w1", "w2")]
    for worker in workers:
        worker.ready()
    yield server
    for worker in workers:
        worker.kill()
    server.stop()


@pytest.fixture
def slow(tmp_path):
    path = tmp_path / "slow.metal"
    path.write_text(SLOW)
    return path
