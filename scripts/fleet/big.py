"""The large run, with its own report: many jobs through workers that are killed and a server that is restarted; a queue of a
million jobs; what a job costs beside the same work done here.

    JOBS=10000 QUEUED=1000000 python scripts/fleet/big.py [report.md]
"""

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from servers import ASSAY, Nats, Postgres, Worker, assay

JOBS = int(os.environ.get("JOBS", 10_000))
QUEUED = int(os.environ.get("QUEUED", 1_000_000))
WORKERS = ("w1", "w2", "w3", "w4")
SMALL = ["bench", "relu", "--quick", "--dtype", "f32", "--reference", "none", "--iters", "1", "--warmup", "0"]
lines = []


def tell(text):
    lines.append(text)
    print(text, flush=True)


def memory(pid):
    """Resident MiB of a process and all below it."""
    total, pids = 0, [pid]
    while pids:
        one = pids.pop()
        try:
            for line in Path(f"/proc/{one}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    total += int(line.split()[1])
        except OSError:
            continue
        found = subprocess.run(["pgrep", "-P", str(one)], capture_output=True, text=True).stdout
        pids += [int(word) for word in found.split()]
    return total / 1024


class Watch(threading.Thread):
    """The most memory of each process over time."""

    def __init__(self, processes):
        super().__init__(daemon=True)
        self.processes, self.most, self.ended = processes, {}, False

    def run(self):
        while not self.ended:
            for name, process in list(self.processes().items()):
                if process and process.poll() is None:
                    self.most[name] = max(self.most.get(name, 0), memory(process.pid))
            time.sleep(1)


def times(words, count, **more):
    found = []
    for _ in range(count):
        begun = time.monotonic()
        assay(*words, check=0, **more)
        found.append(time.monotonic() - begun)
    return found


def figures(name, seconds):
    tell(f"| {name} | {statistics.median(seconds) * 1e3:.0f} | {min(seconds) * 1e3:.0f} | {max(seconds) * 1e3:.0f} |")


def many(folder, postgres):
    board = postgres.database("big")
    server = Nats(folder / "server").start()
    workers = {name: Worker(server, name, folder) for name in WORKERS}
    for worker in workers.values():
        worker.ready()
    tell("## A job\n\nHost times, milliseconds, each command a process of its own; *here* is the same command without `--fleet`.\n")
    tell("| | median | least | most |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as here:
        own = {"ASSAY_CACHE": str(workers["w1"].cache)}
        figures("here", times([*SMALL, "--board", f"{here}/b.db"], 20, env=own))
    through = [*SMALL, *server.fleet("alice"), "--board", board, "--fresh"]
    times(through, 4)
    figures("through the fleet, empty queue", times(through, 20))
    figures("known before", times([*SMALL, *server.fleet("alice"), "--no-save"], 10))

    before = int(postgres.query("big", "SELECT count(*) FROM assay.run"))
    processes = lambda: {"server": server.process, **{name: worker.process for name, worker in workers.items()}, "submitter": sweep}
    sweep = None
    begun = time.monotonic()
    sweep = subprocess.Popen([ASSAY, *SMALL, *server.fleet("alice"), "--board", board, "--runs", str(JOBS), "--format", "json"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watch = Watch(processes)
    watch.start()
    killed = restarted = 0
    chosen = random.Random(7)
    output = {}
    reader = threading.Thread(target=lambda: output.update(zip(("out", "err"), sweep.communicate())), daemon=True)
    reader.start()
    next_kill, next_restart = 20.0, 60.0
    while reader.is_alive():
        time.sleep(0.5)
        elapsed = time.monotonic() - begun
        if elapsed > next_kill:
            name = chosen.choice(WORKERS)
            workers[name].kill()
            workers[name] = Worker(server, name, folder)
            killed, next_kill = killed + 1, elapsed + 30
        if elapsed > next_restart:
            server.stop(signal.SIGKILL)
            time.sleep(2)
            server.start(setup=False)
            restarted, next_restart = restarted + 1, elapsed + 120
    took = time.monotonic() - begun
    watch.ended = True
    assert sweep.returncode == 0, output["err"]
    answers = json.loads(output["out"])["answers"]
    runs, distinct = (int(word) for word in postgres.query("big", "SELECT count(*), count(DISTINCT job) FROM assay.run").split("|"))
    assert len(answers) == JOBS and len({answer["job"] for answer in answers}) == JOBS, len(answers)
    assert runs - before == JOBS and distinct == runs, (runs, before, distinct)
    assert all(answer["ending"] == "done" for answer in answers)
    busy = sum(answer["seconds"] for answer in answers)
    again = sum(answer["deliveries"] > 1 for answer in answers)
    tell(f"\n## {JOBS:,} jobs, {len(WORKERS)} CPU workers\n")
    tell(f"- {killed} workers killed with SIGKILL, the server killed and restarted {restarted} times.")
    tell(f"- Every job answered exactly once on the board: {runs - before:,} runs, {distinct - before:,} distinct jobs; {again} jobs were delivered more than once.")
    tell(f"- {took:.0f} s, {JOBS / took:.1f} jobs/s (host). Workers were at jobs for {busy / (took * len(WORKERS)) * 100:.0f} % of the time; "
         f"a job took its worker {busy / JOBS * 1e3:.1f} ms, and {took * len(WORKERS) / JOBS * 1e3 - busy / JOBS * 1e3:.1f} ms passed between two.")
    tell("- Most resident memory, MiB, a worker with its child process: " + ", ".join(f"{name} {most:.0f}" for name, most in sorted(watch.most.items())) + ".")
    for worker in workers.values():
        worker.kill()
    server.stop()


def submitted(words):
    """Runs a command whose output nobody reads: its seconds, and its most resident MiB."""
    begun = time.monotonic()
    process = subprocess.Popen([ASSAY, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, process.stderr.read()
    return time.monotonic() - begun, used.ru_maxrss / 1024


def queued(folder):
    server = Nats(folder / "queue", workers="w1:cpu").start()
    tell(f"\n## {QUEUED:,} queued jobs\n")
    tell("Submitted by `assay bench --detach`, in five parts of the same size.\n")
    tell("| queued | server MiB | store MB | submitter MiB | jobs submitted/s | `assay fleet jobs` ms |\n|---|---|---|---|---|---|")
    step = max(QUEUED // 5, 1)
    for part in range(6):
        took, used = (0.0, 0.0) if part == 0 else submitted([*SMALL, "--no-time", *server.fleet("alice"), "--runs", str(step), "--detach"])
        begun = time.monotonic()
        found = json.loads(assay("fleet", "jobs", *server.as_("alice"), "--format", "json", check=0).stdout)
        look = time.monotonic() - begun
        waiting = sum(lane["jobs"] for lane in found["lanes"])
        store = sum(file.stat().st_size for file in (folder / "queue/store").rglob("*") if file.is_file()) / 1e6
        rate = f"{step / took:.0f}" if part else ""
        tell(f"| {waiting:,} | {memory(server.process.pid):.0f} | {store:.0f} | {used:.0f} | {rate} | {look * 1e3:.0f} |")
        assert waiting == step * part, (waiting, step * part)
    worker = Worker(server, "w1", folder, "--most", "100").ready()
    most, begun = 0, time.monotonic()
    while worker.process.poll() is None:
        most = max(most, memory(worker.process.pid))
        time.sleep(0.3)
    tell(f"\nA worker beside the full queue took 100 jobs in {time.monotonic() - begun:.0f} s, with at most {most:.0f} MiB, its child process included; "
         f"the server had {memory(server.process.pid):.0f} MiB.")
    server.stop()


def main():
    postgres = Postgres().start()
    with tempfile.TemporaryDirectory(prefix="assay-big-") as folder:
        try:
            tell("# The large run of a fleet\n")
            tell(f"`scripts/fleet/big.py`, {os.cpu_count()} hardware threads, load {os.getloadavg()[0]:.1f} at the start; all processes on this machine.\n")
            if JOBS:
                many(Path(folder), postgres)
            if QUEUED:
                queued(Path(folder))
        finally:
            postgres.stop()
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
