"""Who may do what, jobs that are none, and what is shown."""

import asyncio
import base64
import hashlib
import json
import select
import time
import urllib.error
import urllib.request

import nats
import nkeys
import pytest
from servers import Nats, Worker, assay, free_port, in_background, job, overview, publish, result, seed, signed, wait_for


# What each role tries, by raw requests: alice submits to cpu, w1 works in cpu, eve looks. True where it may.
API = "$JS.API."
LAST = API + "DIRECT.GET."
TABLE = [
    # action, alice, w1, eve
    ("assay.v2.jobs.cpu.normal.alice", True, False, False),
    ("assay.v2.jobs.cpu.normal.bob", False, False, False),
    ("assay.v2.jobs.m2.normal.alice", False, False, False),
    ("assay.v2.wake.cpu", True, False, False),
    ("assay.v2.wake.m2", False, False, False),
    # Answers of a pool are its workers'.
    ("assay.v2.results.cpu.alice.cpu-x", False, True, False),
    ("assay.v2.results.cpu.bob.cpu-x", False, True, False),
    ("assay.v2.results.m2.alice.m2-x", False, False, False),
    ("assay.v2.answers.cpu.0", False, True, False),
    ("assay.v2.answers.m2.0", False, False, False),
    ("assay.v2.progress.cpu.alice.cpu-x", False, True, False),
    ("assay.v2.progress.m2.alice.m2-x", False, False, False),
    ("assay.v2.dead.cpu.alice.x", False, True, False),
    ("assay.v2.dead.m2.alice.x", False, False, False),
    # Objects are their submitter's, and readable by workers of their pool.
    ("assay.v2.objects.cpu.alice.in.h.0", True, False, False),
    ("assay.v2.objects.cpu.alice.out.h.0", False, True, False),
    ("assay.v2.objects.cpu.bob.in.h.0", False, False, False),
    ("assay.v2.objects.m2.alice.in.h.0", False, False, False),
    ("assay.v2.objects.m2.bob.out.h.0", False, False, False),
    (LAST + "ASSAY_OBJECTS.assay.v2.objects.cpu.alice.in.h.0", True, True, False),
    (LAST + "ASSAY_OBJECTS.assay.v2.objects.cpu.alice.out.h.0", True, True, False),
    (LAST + "ASSAY_OBJECTS.assay.v2.objects.cpu.bob.in.h.0", False, True, False),
    (LAST + "ASSAY_OBJECTS.assay.v2.objects.m2.bob.in.h.0", False, False, False),
    (LAST + "ASSAY_OBJECTS.assay.v2.objects.m2.bob.out.h.0", False, False, False),
    (LAST + "ASSAY_OBJECTS", False, False, False),
    (API + "STREAM.INFO.ASSAY_OBJECTS", False, False, False),
    (API + "STREAM.MSG.GET.ASSAY_OBJECTS", False, False, False),
    (API + "STREAM.MSG.DELETE.ASSAY_OBJECTS", False, False, False),
    (API + "STREAM.PURGE.ASSAY_OBJECTS", False, False, False),
    (API + "CONSUMER.CREATE.ASSAY_OBJECTS", False, False, False),
    (API + "CONSUMER.CREATE.ASSAY_OBJECTS.x.assay.v2.objects.cpu.alice.>", False, False, False),
    # Wishes to cancel and the list of workers.
    ("$KV.assay-cancels.alice.x", True, False, False),
    ("$KV.assay-cancels.bob.x", False, False, False),
    (LAST + "KV_assay-cancels.$KV.assay-cancels.bob.x", False, True, False),
    ("$KV.assay-workers.w1", False, True, False),
    ("$KV.assay-workers.w2", False, False, False),
    (LAST + "KV_assay-workers.$KV.assay-workers.w1", True, False, True),
    (API + "STREAM.INFO.KV_assay-workers", True, False, True),
    (API + "STREAM.INFO.KV_assay-cancels", False, False, False),
    # Streams.
    (API + "STREAM.NAMES", True, False, True),
    (API + "STREAM.LIST", False, False, False),
    (API + "STREAM.INFO.ASSAY_JOBS_cpu", True, True, True),
    (API + "STREAM.INFO.ASSAY_JOBS_m2", True, False, True),
    (API + "STREAM.INFO.ASSAY_RESULTS", True, False, True),
    (API + "STREAM.CREATE.X", False, False, False),
    (API + "STREAM.UPDATE.ASSAY_RESULTS", False, False, False),
    (API + "STREAM.DELETE.ASSAY_RESULTS", False, False, False),
    (API + "STREAM.PURGE.ASSAY_JOBS_cpu", False, False, False),
    (API + "STREAM.MSG.DELETE.ASSAY_RESULTS", False, False, False),
    (API + "STREAM.MSG.GET.ASSAY_JOBS_cpu", False, False, False),
    (API + "STREAM.MSG.GET.ASSAY_ANSWERS", False, False, False),
    (API + "STREAM.SNAPSHOT.ASSAY_RESULTS", False, False, False),
    # Queues.
    (API + "CONSUMER.CREATE.ASSAY_JOBS_cpu.x.assay.v2.jobs.cpu.normal.alice", False, True, False),
    (API + "CONSUMER.CREATE.ASSAY_JOBS_m2.x.assay.v2.jobs.m2.normal.alice", False, False, False),
    (API + "CONSUMER.CREATE.ASSAY_RESULTS.x.assay.v2.results.>", False, False, False),
    (API + "CONSUMER.MSG.NEXT.ASSAY_JOBS_cpu.normal_alice", False, True, False),
    (API + "CONSUMER.MSG.NEXT.ASSAY_JOBS_m2.normal_alice", False, False, False),
    (API + "CONSUMER.DELETE.ASSAY_JOBS_cpu.normal_alice", False, False, False),
    (API + "CONSUMER.DURABLE.CREATE.ASSAY_JOBS_cpu.x", False, False, False),
    ("$JS.ACK.ASSAY_JOBS_cpu.normal_alice.1.1.1.1.1", False, True, False),
    ("$JS.ACK.ASSAY_JOBS_m2.normal_alice.1.1.1.1.1", False, False, False),
    # Answers are read by those who asked, and what is known by workers of its pool.
    (LAST + "ASSAY_RESULTS.assay.v2.results.cpu.alice.cpu-x", True, True, True),
    (LAST + "ASSAY_RESULTS.assay.v2.results.cpu.bob.cpu-x", False, True, True),
    (LAST + "ASSAY_RESULTS.assay.v2.results.m2.bob.m2-x", False, False, True),
    (LAST + "ASSAY_ANSWERS.assay.v2.answers.cpu.0", False, True, False),
    (LAST + "ASSAY_ANSWERS.assay.v2.answers.m2.0", False, False, False),
    (LAST + "ASSAY_ANSWERS", False, False, False),
    (LAST + "ASSAY_DEAD.assay.v2.dead.cpu.alice.x", True, False, True),
    (LAST + "ASSAY_DEAD.assay.v2.dead.cpu.bob.x", False, False, True),
    ("$SYS.REQ.SERVER.PING", False, False, False),
    ("_INBOX_alice.x", False, False, False),
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


def test_every_action_of_every_role(tmp_path):
    server = Nats(tmp_path / "server", pools="cpu,m2", submitters="alice:cpu,bob", workers="w1:cpu,w2:m2").start()
    try:
        subjects = [row[0] for row in TABLE]
        for column, who in ((1, "alice"), (2, "w1"), (3, "eve")):
            refused = asyncio.run(violations(server, who, subjects))
            expected = {row[0] for row in TABLE if not row[column]}
            assert refused == expected, (who, refused ^ expected)
        hears = {
            "alice": ["assay.v2.results.*.bob.>", "assay.v2.results.>", "assay.v2.objects.>", "$JS.API.>", "_INBOX_bob.>", "assay.v2.jobs.>", ">", "$KV.assay-cancels.>"],
            "w1": ["assay.v2.jobs.>", "_INBOX_alice.>", "assay.v2.wake.m2", "assay.v2.results.>", "assay.v2.answers.>", "assay.v2.objects.>", ">"],
            "eve": ["assay.v2.jobs.>", "assay.v2.objects.>", "_INBOX_alice.>", "assay.v2.wake.cpu", ">"],
        }
        for who, listen in hears.items():
            assert asyncio.run(violations(server, who, [], listen)) == set(listen), who
        # Nobody without a key comes in.
        assert assay("fleet", "workers", "--server", server.url, "--user", "alice").returncode == 4
    finally:
        server.stop()


def INPUT(name):
    return {"name": name, "hash": hashlib.sha256(b"x").hexdigest(), "size": 1, "inline": base64.b64encode(b"x").decode()}


def planted(server, who, name, number, **changes):
    """A worker's answer of alice's job, as the program writes it."""
    done = {"kind": "done", "code": 0, "output": "planted", "error": None, "outcomes": ""}
    machine = {"worker": name, "device": "cpu", "version": assay("--version").stdout.split()[-1], "facts": {}}
    text = json.dumps({"job": f"cpu-job{number}", "asked": f"cpu-job{number}", "submitter": "alice", "key": "0" * 64, "ending": done,
                       "machine": machine, "seconds": 0.1, "deliveries": 1, **changes})
    key = nkeys.from_seed(seed(server, who).encode())
    return {"answer": text, "key": key.public_key.decode(), "signature": base64.b64encode(key.sign(b"assay answer\n" + text.encode())).decode()}


def test_answers_of_others_are_not_believed(tmp_path):
    server = Nats(tmp_path / "server", pools="cpu,m2", submitters="alice", workers="w1:cpu,w2:m2").start()
    try:
        true = planted(server, "w1", "w1", 1)
        wrong = {
            1: true,
            2: {**planted(server, "w1", "w1", 2), "signature": "", "key": ""},
            3: planted(server, "w2", "w2", 3),  # of another pool
            4: planted(server, "w2", "w1", 4),  # in another's name
            5: planted(server, "alice", "alice", 5),  # not a worker
            6: true,  # of another job
            7: {**planted(server, "w1", "w1", 7), "answer": planted(server, "w1", "w1", 7)["answer"].replace("planted", "altered")},
        }
        for number, message in wrong.items():
            # The admin is the server: not even the server answers for a worker.
            subject = f"assay.v2.results.cpu.alice.cpu-job{number}"
            asyncio.run(publish(server, "admin", subject, [json.dumps(message).encode()]))
        said = {number: result(server, number) for number in wrong}
        assert "planted" in said[1], said[1]
        for number, why in ((2, "not signed"), (3, "a worker of the pool m2"), (4, "another key"), (5, "does not name"), (6, "of the job cpu-job1"), (7, "altered")):
            assert why in said[number] and "planted" not in said[number], said[number]
    finally:
        server.stop()


def test_what_others_have_planted_is_not_known(tmp_path):
    server = Nats(tmp_path / "server", pools="cpu,m2", submitters="alice", workers="w1:cpu,w2:m2").start()
    worker = Worker(server, "w1", tmp_path).ready()
    words = ["bench", "relu", "--quick", "--no-time", "--dtype", "f32", "--format", "json", *server.fleet("alice"), "--pools", "cpu", "--no-save"]
    try:
        first = json.loads(assay(*words, check=0).stdout)["answers"][0]
        again = json.loads(assay(*words, check=0).stdout)["answers"][0]
        assert again["cached"] and not first["cached"]
        subjects = asyncio.run(kept(server, "ASSAY_ANSWERS", "assay.v2.answers.cpu.>"))
        assert len(subjects) == 1, subjects
        key = subjects[0].rsplit(".", 1)[1]
        # A worker of m2 cannot write there, and what the server itself puts there in its name is not believed.
        forged = planted(server, "w2", "w2", 1, key=key)
        asyncio.run(publish(server, "admin", subjects[0], [json.dumps(forged).encode()]))
        third = json.loads(assay(*words, check=0).stdout)
        assert not third["answers"][0]["cached"] and "planted" not in json.dumps(third)
    finally:
        worker.kill()
        server.stop()


async def kept(server, stream, subjects):
    client = await nats.connect(server.url, nkeys_seed_str=seed(server, "admin"))
    info = await client.jetstream().stream_info(stream, subjects_filter=subjects)
    await client.close()
    return list(info.state.subjects or {})


def test_workers_in_the_wrong_place_end_with_the_reason(tmp_path):
    server = Nats(tmp_path / "server", pools="cpu,m2", submitters="alice", workers="w1:cpu").start()
    try:
        start = time.monotonic()
        for who, pool in (("alice", "cpu"), ("eve", "cpu"), ("w1", "m2")):
            ended = assay("fleet", "worker", *server.as_(who), "--pool", pool)
            assert ended.returncode == 2 and f"{who} may not work in the pool {pool}" in ended.stderr, ended.stderr
        assert time.monotonic() - start < 30
        # Whose jobs: nobody's, unless it is said.
        lonely = tmp_path / "w1.nk"
        lonely.write_text(open(server.key("w1")).read())
        ended = assay("fleet", "worker", "--server", server.url, "--key", lonely, "--pool", "cpu")
        assert ended.returncode == 2 and "--allow-unsigned" in ended.stderr, ended.stderr
        # A pool without workers is named at once.
        waiting = in_background("bench", "relu", "--quick", "--no-time", *server.fleet("alice"), "--pools", "m2", "--no-save")
        said, _, _ = select.select([waiting.stderr], [], [], 5)
        waiting.kill()
        assert said and "no worker of pool m2" in waiting.stderr.readline()
        waiting.wait()
    finally:
        server.stop()


def test_unsigned_altered_doubled_and_hostile_jobs(tmp_path):
    server = Nats(tmp_path / "server", workers="w1:cpu").start()
    worker = Worker(server, "w1", tmp_path).ready()
    lane = "assay.v2.jobs.cpu.normal.alice"
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
            write(17, protocol=1),
            write(18, inputs=[INPUT("outcomes.jsonl")], line=["run", "outcomes.jsonl"]),
            write(19, inputs=[INPUT("holders.json")]),
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
        asyncio.run(publish(server, "alice", "assay.v2.wake.cpu", [b""]))
        wait_for(lambda: not overview(server)["lanes"], 90, 0.5)
        assert "relu" in result(server, 1)
        for number in (2, 3, 4):
            assert "signature is refused" in result(server, number), number
        for number in (10, 11, 12, 13, 14):
            assert "may not say" in result(server, number), number
        assert "for the pool m2" in result(server, 15) and "at most" in result(server, 16)
        assert "speaks protocol 1, and this worker protocol 2" in result(server, 17)
        assert all("a name that workers use" in result(server, number) for number in (18, 19))
        # One answer each, and three messages that are no jobs at all, beside the one in another's name.
        found = overview(server)
        assert found["results"] == 14, found["results"]
        assert len([row for row in found["given_up"] if row["job"].startswith("message-")]) == 4
        assert worker.process.poll() is None
        # A late double of an answered job changes nothing.
        asyncio.run(publish(server, "alice", lane, messages[:1]))
        wait_for(lambda: not overview(server)["lanes"], 30, 0.5)
        assert overview(server)["results"] == 14
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
        for host in ("evil.example", f"evil.example:{port}", "localhost"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(url + "/", headers={"Host": host}))
            assert refused.value.code == 421, host
    finally:
        process.kill()
        process.wait()


def test_top_in_a_pipe(fleet):
    text = assay("fleet", "top", *fleet.as_("alice"), "--times", "1", env={"COLUMNS": "60"}, check=0).stdout
    assert "w1" in text and "\x1b" not in text
