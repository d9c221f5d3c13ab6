"""Jobs for real: what a team does every day, with a server, workers and a board on this machine."""

import json
import os
import signal
import subprocess

from servers import QUICK, ROOT, Nats, Worker, assay, free_port, in_background, overview, running, wait_for


def test_the_board_of_a_team(postgres):
    """The tests of the board that are not about files, in PostgreSQL."""
    env = {**os.environ, "ASSAY_TEST_POSTGRES": postgres.server}
    words = ["cargo", "test", "--quiet", "--workspace", "--features", os.environ["FEATURES"],
             "--test", "import", "--test", "killed", "--test", "record", "--test", "render", "--test", "store", "--", "--skip", "no_damage"]
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


def test_ctrl_c_detaches_where_that_is_wanted(fleet, slow):
    process = in_background("run", slow, *fleet.fleet("alice"), "--fresh", "--on-interrupt", "detach")
    job = wait_for(lambda: running(fleet), 30, 0.3)[0]
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    told = process.stderr.read()
    assert f"assay fleet results {job}" in told, told
    assert running(fleet) == [job]
    assay("fleet", "cancel", job, *fleet.as_("alice"), check=0)
    wait_for(lambda: not running(fleet), 30, 0.3)
    assert "cancelled" in assay("fleet", "results", job, *fleet.as_("alice"), "--no-save", check=0).stdout


def test_detached_jobs_are_collected_later_and_once(tmp_path, postgres):
    board = postgres.database("detached")
    server = Nats(tmp_path / "server", workers="w1:cpu").start()
    try:
        done = assay(*QUICK, *server.fleet("alice"), "--runs", "3", "--detach", check=0)
        jobs = done.stdout.split()
        assert len(set(jobs)) == 3 and "3 jobs are submitted" in done.stderr
        early = assay("fleet", "results", *jobs, *server.as_("alice"), "--board", board, check=4)
        assert "Without an answer" in early.stdout
        worker = Worker(server, "w1", tmp_path)
        for _ in range(2):
            found = assay("fleet", "results", "--wait", "-", *server.as_("alice"), "--board", board, "--format", "json", check=0,
                          input="\n".join(jobs))
            answers = json.loads(found.stdout)["answers"]
            assert [answer["job"] for answer in answers] == jobs
            assert all(answer["output"]["kernels"][0]["right"] for answer in answers)
            assert postgres.query("detached", "SELECT count(*), count(DISTINCT job) FROM assay.run") == "3|3"
        assert jobs[0] in assay("fleet", "results", *server.as_("alice"), check=0).stdout
        # Somebody else's jobs are nobody's business.
        assay("fleet", "results", jobs[0], *server.as_("bob"), "--no-save", check=4)
        worker.kill()
    finally:
        server.stop()


def test_a_few_jobs_do_not_wait_for_many(tmp_path):
    server = Nats(tmp_path / "server", workers="w1:cpu").start()
    try:
        many = [*QUICK, "--no-time", "--fresh", "--runs", "200", "--detach"]
        assert len(assay(*many, *server.fleet("alice"), check=0).stdout.split()) == 200
        worker = Worker(server, "w1", tmp_path).ready()
        assay(*QUICK, "--no-time", "--fresh", "--runs", "5", *server.fleet("bob"), check=0)
        lanes = {lane["submitter"]: lane["jobs"] for lane in overview(server)["lanes"]}
        # In turns: as many of the other's jobs were done as of these, and those before them.
        assert lanes.get("alice", 0) >= 100, lanes
        worker.kill()
    finally:
        server.stop()


def test_a_search_elsewhere_finds_what_it_would_here(fleet, tmp_path):
    before = sum(worker["answered"] for worker in overview(fleet)["workers"])
    words = ["tune", ROOT / "examples/naive/softmax.metal", "--evaluations", "12", "--seed", "3", "--budget", "10m", "--format", "json"]

    def told(name, *more):
        report = json.loads(assay(*words, "--attempts", tmp_path / name, *more, check=0, timeout=400).stdout)
        attempts = json.loads(assay("attempts", "--attempts", tmp_path / name, "--best", "50", "--format", "json", check=0).stdout)["attempts"]
        return report, attempts

    here, attempts_here = told("here.db")
    there, attempts_there = told("there.db", *fleet.fleet("alice"))
    assert here["source"] == there["source"] and here["claimed_gain"] == there["claimed_gain"]
    same = lambda rows: [(row["genome"], row.get("time_us")) for row in rows]
    assert same(attempts_here) == same(attempts_there)
    assert len(attempts_there) == there["evaluations"] >= 6
    # Workers announce what they have answered with their next sign of life.
    wait_for(lambda: sum(worker["answered"] for worker in overview(fleet)["workers"]) >= before + 12, 30, 0.5)
