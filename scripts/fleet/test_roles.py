"""Who may do what, jobs that are none, and what is shown."""

import asyncio
import json
import urllib.error
import urllib.request

import nats
import pytest
from servers import Nats, Worker, assay, free_port, in_background, job, overview, publish, result, seed, signed, wait_for


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
    said = []

    async def heard(error):
        said.append(str(error).lower())

    client = await nats.connect(server.url, nkeys_seed_str=seed(server, who), error_cb=heard, inbox_prefix=f"_INBOX_{who}".encode(), max_reconnect_attempts=1)
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
