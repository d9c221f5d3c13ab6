"""Fleets for real: what must work, and what must not, with a server, workers and a board on this machine."""

import asyncio
import base64
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import nats
import pytest
from nats.js.api import StreamConfig
from servers import ASSAY, ROOT, Nats, Postgres, Proxy, Worker, assay, free_port, wait_for

QUICK = ["bench", "relu", "--quick", "--dtype", "f32", "--reference", "none"]
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


def overview(server, who="alice"):
    return json.loads(assay("fleet", "jobs", *server.as_(who), "--format", "json", check=0).stdout)


def running(server):
    found = json.loads(assay("fleet", "workers", *server.as_("alice"), "--format", "json", check=0).stdout)
    return [worker["job"] for worker in found["workers"] if worker["job"]]


def in_background(*words):
    return subprocess.Popen([ASSAY, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_board_of_a_team(postgres):
    """The tests of the board that are not about files, in PostgreSQL."""
    env = {**os.environ, "ASSAY_TEST_POSTGRES": postgres.server}
    words = ["cargo", "test", "--quiet", "-p", "assay-board", "--features", "postgres", "--", "--skip", "no_damage"]
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_doctor_says_what_is_there_and_what_is_missing(fleet, tmp_path):
    fine = assay("fleet", "doctor", *fleet.as_("alice"), check=0).stdout
    assert "pool cpu: 2 workers" in fine
    nobody = assay("fleet", "doctor", "--server", f"nats://127.0.0.1:{free_port()}", "--key", fleet.key("alice"), check=4)
    assert "cannot be reached" in nobody.stdout


def test_a_bench_elsewhere_is_on_the_team_board_once(fleet, postgres):
    board = postgres.database("once")
    words = [*QUICK, *fleet.fleet("alice"), "--board", board, "--format", "json"]
    first = json.loads(assay(*words, check=0).stdout)
    assert first["schema"]["name"] == "assay.bench-fleet"
    told = first["answers"][0]
    assert told["ending"] == "done" and not told["cached"] and told["worker"] in ("w1", "w2")
    row = first["pools"][0]["report"]["kernels"][0]
    assert row["right"] and row["board"]["standing"] == "first" and row["time"]["origin"] == "host"
    # The same question is answered from what is known, also for somebody else; the board knows the run.
    bob = [*QUICK, *fleet.fleet("bob"), "--board", board, "--format", "json"]
    again = json.loads(assay(*bob, check=0).stdout)
    assert again["answers"][0]["cached"] and again["answers"][0]["job"] == told["job"]
    assert again["pools"][0]["report"]["kernels"][0]["board"]["standing"] == "known"
    assert postgres.query("once", "SELECT count(*), count(DISTINCT job) FROM assay.run") == "1|1"
    # Unless it is asked anew.
    fresh = json.loads(assay(*words, "--fresh", check=0).stdout)
    assert not fresh["answers"][0]["cached"]
    assert postgres.query("once", "SELECT count(*), count(DISTINCT job) FROM assay.run") == "2|2"
    text = assay("board", "--board", board, "--kernel", "relu", check=0).stdout
    assert "relu" in text


def test_a_challenge_is_a_pair_on_one_worker(fleet, postgres, tmp_path):
    board = postgres.database("pair")
    assay(*QUICK, *fleet.fleet("alice"), "--board", board, check=0)
    source = json.loads(assay("bench", "relu", "--quick", "--no-time", "--dtype", "f32", "--format", "json", check=0).stdout)
    mine = tmp_path / "mine.metal"
    mine.write_text("// another\n" + source["kernels"][0]["source_text"])
    words = [*QUICK, "--source", mine, *fleet.fleet("alice"), "--board", board, "--format", "json"]
    for _ in range(2):
        # Raced each time, never answered from what is known; the same code is a tie or not proven faster.
        answer = json.loads(assay(*words, check=0).stdout)
        assert not answer["answers"][0]["cached"]
        standing = answer["pools"][0]["report"]["kernels"][0]["board"]["standing"]
        assert standing in ("tie", "slower", "unraced", "record", "again"), standing
    if postgres.query("pair", "SELECT count(*) FROM assay.record") == "1":
        assert standing in ("tie", "slower")


def test_copies_between_file_and_server(postgres, tmp_path):
    board = postgres.database("copied")
    file = tmp_path / "board.db"
    assay(*QUICK, "--board", file, check=0)
    there = assay("board", "copy", file, board, check=0).stdout
    back = assay("board", "copy", board, tmp_path / "back.db", check=0).stdout
    digest = there.split("digest ")[1]
    assert digest == back.split("digest ")[1]
    assert "already" in assay("board", "copy", file, board, check=3).stderr


def test_a_run_elsewhere_prints_what_it_would_here(fleet, tmp_path):
    words = ["run", ROOT / "examples/kernels/saxpy.metal", "--grid", "256", "--threadgroup", "64", "--buffer", "0=zeros:f32:256",
             "--buffer", "1=iota:f32:256", "--bytes", "2=f32:2.5", "--bytes", "3=u32:256", "--print", "0:4", "--format", "json"]
    here = json.loads(assay(*words, check=0).stdout)
    there = json.loads(assay(*words, *fleet.fleet("alice"), check=0).stdout)
    assert here["buffers"] and here["buffers"] == there["buffers"]
    bad = tmp_path / "bad.metal"
    bad.write_text("kernel void k(")
    failed = assay("run", bad, *fleet.fleet("alice"))
    assert failed.returncode == 3 and "on w" in failed.stderr


def test_a_large_input_goes_through_the_object_store(fleet, tmp_path):
    data = tmp_path / "x.npy"
    count = 1 << 20
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % count
    head = head.ljust(118) + "\n"
    data.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + b"\0\0\x80?" * count)
    words = ["run", ROOT / "examples/kernels/saxpy.metal", "--grid", "256", "--threadgroup", "64", "--buffer", "0=zeros:f32:256", "--buffer", f"1={data}",
             "--bytes", "2=f32:2.5", "--bytes", "3=u32:256", "--print", "0:4"]
    there = assay(*words, *fleet.fleet("alice"), check=0).stdout
    assert "2.5" in there


def test_a_job_that_hangs_is_lost_and_the_worker_is_not(fleet, slow):
    done = assay("run", slow, *fleet.fleet("alice"), "--job-timeout", "2")
    assert done.returncode == 4 and "longer than 2 s" in done.stderr, done.stderr
    assay(*QUICK, "--no-time", *fleet.fleet("alice"), "--fresh", check=0)


def test_ctrl_c_cancels_what_runs(fleet, slow):
    process = in_background("run", slow, *fleet.fleet("alice"), "--fresh")
    wait_for(lambda: running(fleet), 30, 0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert "cancelled" in process.stderr.read()
    wait_for(lambda: not running(fleet) and not overview(fleet)["lanes"], 30, 0.5)


def test_high_goes_first_and_submitters_share(tmp_path):
    server = Nats(tmp_path / "server", workers="w1:cpu").start()
    try:
        many = ["bench", "relu", "gelu", "softmax", "tanh", "exp", "elu", "--quick", "--no-time", "--fresh"]
        waiting = in_background(*many, *server.fleet("alice"), "--priority", "low")
        wait_for(lambda: overview(server)["lanes"], 20)
        urgent = in_background(*QUICK, "--no-time", *server.fleet("bob"), "--priority", "high")
        wait_for(lambda: len(overview(server)["lanes"]) == 2, 20)
        worker = Worker(server, "w1", tmp_path)
        assert urgent.wait(90) == 0
        assert waiting.poll() is None, "low goes after high"
        assert waiting.wait(120) == 0
        worker.kill()
    finally:
        server.stop()


def test_a_killed_process_is_tried_again_and_then_given_up(tmp_path, slow):
    server = Nats(tmp_path / "server", workers="w1:cpu").start()
    worker = Worker(server, "w1", tmp_path, "--deliveries", "2").ready()
    try:
        process = in_background("run", slow, *server.fleet("alice"))
        killed = set()
        while process.poll() is None:
            for child in worker.children():
                # Long enough at it to have begun.
                if child not in killed and running(server):
                    os.kill(child, signal.SIGKILL)
                    killed.add(child)
            time.sleep(0.5)
        assert process.returncode == 4 and "given up after 2" in process.stderr.read()
        dead = overview(server)["given_up"]
        assert len(dead) == 1 and dead[0]["submitter"] == "alice"
        # By hand it is tried again, and its worker is still there.
        again = assay("fleet", "retry", dead[0]["job"], *server.as_("alice"), check=0).stdout.split()[-1]
        wait_for(lambda: again in running(server), 30, 0.3)
        assay("fleet", "cancel", again, *server.as_("alice"), check=0)
        wait_for(lambda: not running(server), 30, 0.3)
        assay("fleet", "jobs", "--job", again, *server.as_("alice"), check=0)
        assert "no job" in assay("fleet", "retry", dead[0]["job"], *server.as_("bob")).stderr
    finally:
        worker.kill()
        server.stop()


def test_workers_killed_and_the_server_restarted_lose_nothing_and_double_nothing(tmp_path, postgres):
    board = postgres.database("killed")
    server = Nats(tmp_path / "server").start()
    workers = {name: Worker(server, name, tmp_path) for name in ("w1", "w2", "w3")}
    try:
        sweeps = [in_background(*QUICK, "--iters", "1", "--warmup", "0", *server.fleet(who), "--board", board, "--fresh", "--format", "json")
                  for who in ("alice", "bob") for _ in range(8)]
        for number, name in enumerate(("w1", "w2", "w3", "w1")):
            time.sleep(2.0)
            workers[name].kill()
            workers[name] = Worker(server, name, tmp_path)
            if number == 1:
                server.stop(signal.SIGKILL)
                time.sleep(1.5)
                server.start(setup=False)
        for sweep in sweeps:
            out, err = sweep.communicate(timeout=240)
            assert sweep.returncode == 0, err
            assert json.loads(out)["answers"][0]["ending"] == "done"
        assert postgres.query("killed", "SELECT count(*), count(DISTINCT job) FROM assay.run") == "16|16"
        wait_for(lambda: not overview(server)["lanes"], 60, 0.5)
    finally:
        for worker in workers.values():
            worker.kill()
        server.stop()


def test_sigterm_finishes_the_job_it_is_at(tmp_path):
    server = Nats(tmp_path / "server", workers="w1:cpu").start()
    worker = Worker(server, "w1", tmp_path).ready()
    try:
        sweep = in_background("bench", "softmax", "--dtype", "f32", "--reference", "none", *server.fleet("alice"), "--no-save", "--fresh")
        wait_for(lambda: running(server), 40, 0.2)
        assert worker.stop(120) == 0
        assert sweep.wait(30) == 0
        assert "answered 1 jobs" in worker.log.read_text()
        assert not overview(server)["workers"]
    finally:
        worker.kill()
        server.stop()


@pytest.mark.parametrize("fault", ["delay", "cut", "half-open", "away"])
def test_faults_of_the_network(tmp_path, fault):
    server = Nats(tmp_path / "server", workers="w1:cpu").start()
    proxy = Proxy(server.port)
    worker = Worker(server, "w1", tmp_path, port=proxy.port).ready()
    try:
        if fault == "delay":
            proxy.delay = 0.05
        sweep = in_background("bench", "softmax", "--quick", "--dtype", "f32", "--reference", "none", *server.fleet("alice"), "--no-save", "--fresh")
        if fault == "cut":
            for _ in range(4):
                time.sleep(0.4)
                proxy.cut()
        elif fault == "half-open":
            wait_for(lambda: running(server) or sweep.poll() is not None, 40, 0.1)
            proxy.frozen = True
            time.sleep(24)
            proxy.cut()
            proxy.frozen = False
        elif fault == "away":
            time.sleep(0.5)
            server.stop()
            time.sleep(6)
            server.start(setup=False)
        out, err = sweep.communicate(timeout=180)
        assert sweep.returncode == 0, err
        assay(*QUICK, "--no-time", *server.fleet("alice"), "--fresh", check=0)
    finally:
        worker.kill()
        server.stop()


def test_another_version_is_refused_with_advice(tmp_path):
    server = Nats(tmp_path / "server", workers="w1:cpu").start()
    try:
        # Nobody there yet: the job is accepted, and refused by the worker who takes it.
        early = in_background(*QUICK, "--no-time", *server.fleet("alice"))
        wait_for(lambda: overview(server)["lanes"], 20)
        worker = Worker(server, "w1", tmp_path, "--as-version", "9.9.9").ready()
        out, err = early.communicate(timeout=60)
        assert early.returncode == 3 and "9.9.9" in out, (out, err)
        done = assay(*QUICK, "--no-time", *server.fleet("alice"))
        assert done.returncode == 4 and "9.9.9" in done.stderr and "upgrade" in done.stderr
        worker.kill()
    finally:
        server.stop()


def test_revoked_credentials_are_told(tmp_path):
    server = Nats(tmp_path / "server", submitters="alice,bob", workers="w1:cpu").start()
    try:
        assay("fleet", "workers", *server.as_("bob"), check=0)
        server.roles["submitters"] = "alice"
        server.configure()
        server.reload()
        done = assay("fleet", "workers", *server.as_("bob"))
        assert done.returncode == 4 and "refuses these credentials" in done.stderr and "revoked" in done.stderr, done.stderr
        assay("fleet", "workers", *server.as_("alice"), check=0)
    finally:
        server.stop()


def test_a_full_disk_is_waited_for_and_told(tmp_path):
    server = Nats(tmp_path / "server", workers="w1:cpu", disk=200_000)
    # The server itself reserves for the object store and buckets; what is left is little.
    try:
        server.start(setup=False)
        setup = assay("fleet", "setup", *server.as_("admin"), "--pools", "cpu")
        assert setup.returncode == 4 and ("insufficient" in setup.stderr or "resource" in setup.stderr), setup.stderr
    finally:
        server.stop()


# What each role tries, by raw requests; True where it may.
FORBIDDEN = [
    # subject, alice (submitter), w1 (worker), eve (viewer)
    ("assay.v1.jobs.cpu.normal.alice", True, False, False),
    ("assay.v1.jobs.cpu.normal.bob", False, False, False),
    ("assay.v1.jobs.m2.normal.alice", False, False, False),
    ("assay.v1.results.alice.x", False, True, False),
    ("assay.v1.results.bob.x", False, True, False),
    ("assay.v1.answers.0", False, True, False),
    ("assay.v1.dead.cpu.alice.x", False, True, False),
    ("assay.v1.dead.m2.alice.x", False, False, False),
    ("assay.v1.wake.cpu", True, False, False),
    ("assay.v1.progress.alice.x", False, True, False),
    ("$KV.assay-cancels.alice.x", True, False, False),
    ("$KV.assay-cancels.bob.x", False, False, False),
    ("$KV.assay-workers.w1", False, True, False),
    ("$KV.assay-workers.w2", False, False, False),
    ("$JS.API.STREAM.CREATE.X", False, False, False),
    ("$JS.API.STREAM.UPDATE.ASSAY_RESULTS", False, False, False),
    ("$JS.API.STREAM.DELETE.ASSAY_RESULTS", False, False, False),
    ("$JS.API.STREAM.PURGE.ASSAY_JOBS_cpu", False, False, False),
    ("$JS.API.STREAM.MSG.DELETE.ASSAY_RESULTS", False, False, False),
    ("$JS.API.STREAM.MSG.GET.ASSAY_JOBS_cpu", False, False, False),
    ("$JS.API.CONSUMER.CREATE.ASSAY_JOBS_m2.x.assay.v1.jobs.m2.normal.alice", False, False, False),
    ("$JS.API.CONSUMER.MSG.NEXT.ASSAY_JOBS_m2.normal_alice", False, False, False),
    ("$JS.API.CONSUMER.MSG.NEXT.ASSAY_JOBS_cpu.normal_alice", False, True, False),
    ("$JS.API.CONSUMER.DELETE.ASSAY_JOBS_cpu.normal_alice", False, False, False),
    ("$JS.API.CONSUMER.DURABLE.CREATE.ASSAY_JOBS_cpu.x", False, False, False),
    ("$JS.API.DIRECT.GET.ASSAY_RESULTS.assay.v1.results.alice.x", True, True, True),
    ("$JS.API.DIRECT.GET.ASSAY_RESULTS.assay.v1.results.bob.x", False, True, True),
    ("$JS.API.STREAM.PURGE.OBJ_assay-objects", False, False, False),
    ("$SYS.REQ.SERVER.PING", False, False, False),
]


async def violations(server, who, subjects, listen=()):
    """Which of these the server refuses to take from a user, or to let the user hear."""
    seed = next(line for line in Path(server.key(who)).read_text().splitlines() if line.startswith("SU"))
    said = []

    async def heard(error):
        said.append(str(error).lower())

    client = await nats.connect(server.url, nkeys_seed_str=seed, error_cb=heard, inbox_prefix=f"_INBOX_{who}".encode(), max_reconnect_attempts=1)
    refused = set()
    for subject in subjects:
        before = len(said)
        await client.publish(subject, b"{}")
        await client.flush()
        await asyncio.sleep(0.03)
        if any("permissions violation" in text for text in said[before:]):
            refused.add(subject)
    for subject in listen:
        before = len(said)
        await client.subscribe(subject)
        await client.flush()
        await asyncio.sleep(0.03)
        if any("permissions violation" in text for text in said[before:]):
            refused.add(subject)
    await client.close()
    return refused


def test_every_forbidden_action_of_every_role_is_refused(tmp_path):
    server = Nats(tmp_path / "server", pools="cpu,m2", submitters="alice:cpu,bob", workers="w1:cpu,w2:m2").start()
    try:
        subjects = [row[0] for row in FORBIDDEN]
        for column, who in ((1, "alice"), (2, "w1"), (3, "eve")):
            refused = asyncio.run(violations(server, who, subjects))
            expected = {row[0] for row in FORBIDDEN if not row[column]}
            assert refused == expected, (who, refused ^ expected)
        hears = {
            "alice": ["assay.v1.results.bob.>", "_INBOX_bob.>", "assay.v1.jobs.>", ">", "$KV.assay-cancels.>"],
            "w1": ["assay.v1.jobs.>", "_INBOX_alice.>", "assay.v1.wake.m2", "assay.v1.results.>", ">"],
            "eve": ["assay.v1.jobs.>", "_INBOX_alice.>", "assay.v1.wake.cpu", ">"],
        }
        for who, listen in hears.items():
            assert asyncio.run(violations(server, who, [], listen)) == set(listen), who
        # Nobody without a key comes in.
        assert assay("fleet", "workers", "--server", server.url, "--user", "alice").returncode == 4
    finally:
        server.stop()


async def publish(server, who, subject, payloads):
    seed = next(line for line in Path(server.key(who)).read_text().splitlines() if line.startswith("SU"))
    client = await nats.connect(server.url, nkeys_seed_str=seed, inbox_prefix=f"_INBOX_{who}".encode())
    for payload in payloads:
        await client.publish(subject, payload)
    await client.flush()
    await client.close()


def job(number, **changes):
    """A job as the program writes it."""
    return {"protocol": 1, "id": f"job{number}", "submitter": "alice", "version": assay("--version").stdout.split()[-1], "pool": "cpu",
            "priority": "normal", "line": ["bench", "relu", "--quick", "--no-time", "--dtype=f32", "--format=json"], "inputs": [],
            "extra": "", "timeout": 60, "fresh": True, **changes}


def signed(server, who, text):
    import nkeys
    seed = next(line for line in Path(server.key(who)).read_text().splitlines() if line.startswith("SU"))
    key = nkeys.from_seed(seed.encode())
    return {"job": text, "key": key.public_key.decode(), "signature": base64.b64encode(key.sign(text.encode())).decode()}


def result(server, number):
    done = assay("fleet", "jobs", "--job", f"job{number}", *server.as_("alice"))
    return done.stdout + done.stderr if done.returncode == 0 else None


def test_unsigned_altered_doubled_and_hostile_jobs(tmp_path):
    server = Nats(tmp_path / "server", workers="w1:cpu").start()
    worker = Worker(server, "w1", tmp_path, "--require-signature", "--trust", server.folder / "submitters.txt").ready()
    lane = "assay.v1.jobs.cpu.normal.alice"
    try:
        write = lambda number, **changes: json.dumps(job(number, **changes))
        good = signed(server, "alice", write(1))
        altered = dict(signed(server, "alice", write(2)), job=write(2).replace("relu", "gelu"))
        hostile = [
            write(10, line=["bench", "relu", "--kernels=/tmp"]),
            write(11, line=["bench", "relu", "--reference=cmd:/bin/sh"]),
            write(12, line=["run", "/etc/passwd"]),
            write(13, line=["gate"]),
            write(14, line=["bench", "relu", "--board=/tmp/x.db"]),
            write(15, pool="m2"),
            write(16, timeout=10**9),
        ]
        messages = [
            json.dumps(good).encode(),
            json.dumps(good).encode(),  # doubled
            json.dumps({"job": write(3)}).encode(),  # not signed
            json.dumps(altered).encode(),
            json.dumps(signed(server, "bob", write(4))).encode(),  # by somebody else
            json.dumps(signed(server, "alice", write(5, submitter="bob"))).encode(),  # in somebody's name
            b"\xff\x00 no job", b"{}", b"[" * 10000,
            *[json.dumps(signed(server, "alice", text)).encode() for text in hostile],
        ]
        asyncio.run(publish(server, "alice", lane, messages))
        asyncio.run(publish(server, "alice", "assay.v1.wake.cpu", [b""]))
        wait_for(lambda: not overview(server)["lanes"], 90, 0.5)
        assert "relu" in result(server, 1)
        for number in (2, 3, 4):
            assert "signature is refused" in result(server, number), number
        for number in (10, 11, 12, 13, 14):
            assert "may not say" in result(server, number), number
        assert "for the pool m2" in result(server, 15) and "at most" in result(server, 16)
        # One answer each, and three messages that are no jobs at all, beside the one in another's name.
        found = overview(server)
        assert found["results"] == 11, found["results"]
        assert len([row for row in found["given_up"] if row["job"].startswith("message-")]) == 4
        assert worker.process.poll() is None
        # A late double of an answered job changes nothing.
        asyncio.run(publish(server, "alice", lane, messages[:1]))
        wait_for(lambda: not overview(server)["lanes"], 30, 0.5)
        assert overview(server)["results"] == 11
    finally:
        worker.kill()
        server.stop()


def test_the_page_shows_and_changes_nothing(fleet, tmp_path):
    port = free_port()
    process = in_background("fleet", "serve", *fleet.as_("eve"), "--listen", f"127.0.0.1:{port}", "--board", tmp_path / "none.db")
    try:
        url = f"http://127.0.0.1:{port}"

        def page():
            try:
                return urllib.request.urlopen(url + "/", timeout=10).read().decode()
            except urllib.error.URLError:
                return None
        text = wait_for(page, 20)
        assert "w1" in text and "w2" in text and "Recent answers" in text
        assert json.loads(urllib.request.urlopen(url + "/overview.json").read())["pools"] == ["cpu"]
        for method, path, code in (("POST", "/", 405), ("GET", "/../etc/passwd", 404), ("DELETE", "/board", 405)):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(url + path, method=method))
            assert refused.value.code == code
    finally:
        process.kill()
        process.wait()


def test_top_in_a_pipe(fleet):
    text = assay("fleet", "top", *fleet.as_("alice"), "--times", "1", env={"COLUMNS": "60"}, check=0).stdout
    assert "w1" in text and "\x1b" not in text
