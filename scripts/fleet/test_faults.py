"""What goes wrong: workers and servers that die, networks, clocks, disks, versions and keys."""

import asyncio
import json
import os
import signal
import subprocess
import time

import nats
import pytest
from accounts import Accounts
from servers import QUICK, Nats, Postgres, Proxy, Worker, assay, in_background, overview, running, seed, wait_for


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
        # A job of several seconds.
        sweep = in_background("bench", "alexnet", "--dtype", "f32", "--reference", "none", *server.fleet("alice"), "--no-save", "--fresh")
        wait_for(lambda: running(server), 40, 0.2)
        assert worker.stop(120) == 0
        try:
            out, err = sweep.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            sweep.kill()
            raise AssertionError(f"no answer; worker: {worker.log.read_text()}; jobs: {overview(server)}") from None
        assert sweep.returncode == 0, (out, err, worker.log.read_text())
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


def test_a_disk_that_fills_up_is_waited_for(tmp_path):
    # The server's buckets reserve 128 MiB.
    server = Nats(tmp_path / "server", workers="w1:cpu", disk=(128 << 20) + 6_000_000).start()
    worker = Worker(server, "w1", tmp_path).ready()

    async def admin(action):
        client = await nats.connect(server.url, nkeys_seed_str=seed(server, "admin"), inbox_prefix=b"_INBOX_admin")
        await action(client.jetstream())
        await client.close()

    async def fill(stream):
        await stream.add_stream(name="FILL", subjects=["fill"])
        for size in (500_000, 20_000, 500):
            with pytest.raises(nats.js.errors.APIError):
                while True:
                    await stream.publish("fill", b"x" * size)

    async def empty(stream):
        await stream.delete_stream("FILL")

    try:
        asyncio.run(admin(fill))
        sweep = in_background(*QUICK, "--no-time", *server.fleet("alice"), "--runs", "20")
        time.sleep(4)
        assert sweep.poll() is None, sweep.stderr.read()
        asyncio.run(admin(empty))
        out, err = sweep.communicate(timeout=120)
        assert sweep.returncode == 0, err
        assert "takes no more" in err, err
        assert overview(server)["results"] == 20
    finally:
        worker.kill()
        server.stop()


def test_clocks_that_disagree(tmp_path, postgres):
    library = os.environ.get("FAKETIME_LIBRARY")
    if not library:
        pytest.skip("no libfaketime")
    away = lambda offset: {"LD_PRELOAD": library, "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
    board = postgres.database("skewed")
    server = Nats(tmp_path / "server", workers="w1:cpu,w2:cpu").start()
    workers = [Worker(server, "w1", tmp_path, env=away("+3d")).ready(), Worker(server, "w2", tmp_path, env=away("-3d")).ready()]
    try:
        for offset in ("+2h", "-400d"):
            words = [*QUICK, *server.fleet("alice"), "--runs", "6", "--board", board, "--format", "json"]
            answers = json.loads(assay(*words, env=away(offset), check=0).stdout)["answers"]
            assert all(answer["ending"] == "done" and 0 <= answer["seconds"] < 60 for answer in answers)
        assert postgres.query("skewed", "SELECT count(*), count(DISTINCT job) FROM assay.run") == "12|12"
        assert len(overview(server)["workers"]) == 2
    finally:
        for worker in workers:
            worker.kill()
        server.stop()


def test_expired_credentials_are_told(tmp_path):
    server = Accounts(tmp_path / "server").start()
    try:
        for name, seconds in (("alice", 3600), ("late", -60), ("w1", 12)):
            server.credentials(name, seconds)
        worker = Worker(server, "w1", tmp_path, "--allow-unsigned")
        assay(*QUICK, "--no-time", *server.fleet("alice"), check=0)
        done = assay("fleet", "workers", *server.as_("late"))
        assert done.returncode == 4 and "refuses these credentials" in done.stderr and "expired" in done.stderr, done.stderr
        # A worker whose time is up while it works says so.
        wait_for(lambda: "refuses these credentials" in worker.log.read_text(), 60, 0.5)
        worker.kill()
    finally:
        server.stop()


def test_the_board_is_reached_encrypted_or_not_at_all(tmp_path, postgres):
    server = Postgres(tls=True).start()
    board = server.database("tls") + "?sslmode=require"
    trusted = {"PGSSLROOTCERT": str(server.folder / "ca.pem")}
    try:
        assay(*QUICK, "--board", board, env=trusted, check=0)
        assert "relu" in assay("board", "--board", board, env=trusted, check=0).stdout
        assert server.query("tls", "SELECT count(*) FROM assay.run") == "1"
        # An authority that is not known, a connection in the clear, and a server without TLS.
        unknown = assay("board", "--board", board, check=3).stderr
        assert "certificate" in unknown.lower() or "issuer" in unknown.lower(), unknown
        assert "encryption" in assay("board", "--board", board.split("?")[0], check=3).stderr
        plain = assay("board", "--board", f"{postgres.server}/postgres?sslmode=require", env=trusted, check=3).stderr
        assert "TLS" in plain, plain
    finally:
        server.stop()


def test_folders_of_killed_workers_are_removed(tmp_path):
    place = tmp_path / "tmp"
    place.mkdir()
    folders = lambda: list(place.glob("assay-job-*"))
    server = Nats(tmp_path / "server", workers="w1:cpu").start()
    try:
        worker = Worker(server, "w1", tmp_path, env={"TMPDIR": str(place)}).ready()
        assert len(folders()) == 1
        # Killed before its first job: nobody is left to remove the folder but the next worker.
        worker.kill()
        left = folders()
        worker = Worker(server, "w1", tmp_path, env={"TMPDIR": str(place)}).ready()
        wait_for(lambda: len(folders()) == 1 and folders() != left, 20)
        assay(*QUICK, "--no-time", *server.fleet("alice"), check=0)
        # Killed after it: its child process removes the folder.
        worker.kill()
        wait_for(lambda: not folders(), 20)
    finally:
        server.stop()
