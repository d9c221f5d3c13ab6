"""Servers for tests: nats-server, PostgreSQL, workers, and a proxy that misbehaves. All on 127.0.0.1, all ended at the end."""

import base64
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import nats
import nkeys

ROOT = Path(__file__).resolve().parents[2]
ASSAY = os.environ.get("ASSAY", str(ROOT / "target/debug/assay"))
# A server of PyPI's package lies beside the interpreter.
NATS = shutil.which("nats-server")
QUICK = ["bench", "relu", "--quick", "--dtype", "f32", "--reference", "none"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(what, seconds=20, every=0.05):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(every)
    raise AssertionError(f"waited {seconds} s for {what}")


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def assay(*words, check=None, env=None, timeout=180, **more):
    done = subprocess.run(
        [ASSAY, *map(str, words)], capture_output=True, text=True, timeout=timeout, env={**os.environ, **(env or {})}, **more
    )
    if check is not None:
        assert done.returncode == check, f"{words} → {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


class Nats:
    """A nats-server with the configuration of `assay fleet init`."""

    def __init__(self, folder, pools="cpu", submitters="alice,bob", workers="w1:cpu,w2:cpu,w3:cpu,w4:cpu", viewers="eve", disk=None):
        self.folder, self.port, self.pools, self.disk = Path(folder), free_port(), pools, disk
        self.process = None
        self.roles = dict(submitters=submitters, workers=workers, viewers=viewers)
        self.configure()

    def configure(self):
        words = [word for role, names in self.roles.items() for word in (f"--{role}", names)]
        assay("fleet", "init", self.folder, "--pools", self.pools, *words, "--listen", f"127.0.0.1:{self.port}", check=0)
        if self.disk:
            conf = self.folder / "nats-server.conf"
            conf.write_text(re.sub(r"max_file_store: \d+", f"max_file_store: {self.disk}", conf.read_text()))

    @property
    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def key(self, name):
        return str(self.folder / f"{name}.nk")

    def as_(self, name, port=None):
        return ["--server", f"nats://127.0.0.1:{port or self.port}", "--key", self.key(name)]

    def fleet(self, name, port=None):
        return ["--fleet", f"nats://127.0.0.1:{port or self.port}", "--key", self.key(name)]

    def start(self, setup=True):
        log = open(self.folder / "server.log", "ab")
        self.process = subprocess.Popen([NATS, "-c", str(self.folder / "nats-server.conf")], stdout=log, stderr=log)
        wait_for(lambda: answers(self.port))
        if setup:
            assay("fleet", "setup", *self.as_("admin"), "--pools", self.pools, check=0)
        return self

    def stop(self, with_signal=signal.SIGKILL):
        if self.process:
            self.process.send_signal(with_signal)
            self.process.wait(20)
            self.process = None

    def reload(self):
        self.process.send_signal(signal.SIGHUP)
        time.sleep(0.7)


class Worker:
    """`assay fleet worker`, each with a cache of its own: a machine of its own as far as locks are concerned."""

    def __init__(self, nats, name, folder, *more, port=None, pool="cpu", env=None):
        self.name, self.nats, self.env = name, nats, env or {}
        self.log = Path(folder) / f"{name}-{time.monotonic_ns()}.log"
        self.cache = Path(folder) / f"cache-{name}"
        self.words = [ASSAY, "fleet", "worker", *nats.as_(name, port), "--pool", pool, *map(str, more)]
        self.process = None
        self.start()

    def start(self):
        log = open(self.log, "ab")
        env = {**os.environ, "ASSAY_CACHE": os.environ.get("FLEET_CACHE", str(self.cache)), **self.env}
        self.process = subprocess.Popen(self.words, stdout=log, stderr=log, env=env)

    def ready(self):
        def there():
            assert self.process.poll() is None, self.log.read_text()
            found = json.loads(assay("fleet", "workers", *self.nats.as_("alice"), "--format", "json", check=0).stdout)
            return any(worker["name"] == self.name for worker in found["workers"])
        wait_for(there, 40)
        return self

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)

    def stop(self, seconds=60):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def children(self):
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout
        return [int(line) for line in found.split()]


class Postgres:
    """A PostgreSQL server in a folder; as root it runs as somebody else, as it must."""

    def __init__(self, tls=False):
        self.tls = tls
        self.bin = Path(os.environ["POSTGRES_BIN"])
        self.folder = Path(tempfile.mkdtemp(prefix="assay-postgres-", dir="/tmp"))
        self.port = free_port()
        self.user = None
        if os.getuid() == 0:
            for name in ("postgres", "nobody"):
                try:
                    self.user = pwd.getpwnam(name)
                    break
                except KeyError:
                    pass
            shutil.chown(self.folder, self.user.pw_uid, self.user.pw_gid)

    def command(self, *words):
        more = dict(user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[]) if self.user else {}
        return dict(args=[str(self.bin / words[0]), *words[1:]], cwd=self.folder, env={**os.environ, "HOME": str(self.folder)},
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)

    def start(self):
        data = str(self.folder / "data")
        subprocess.run(**self.command("initdb", "-D", data, "-U", "assay", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"), check=True)
        encrypted = self.certificates(Path(data)) if self.tls else []
        self.process = subprocess.Popen(
            **self.command("postgres", "-D", data, "-p", str(self.port), "-c", "listen_addresses=127.0.0.1", *encrypted,
                           "-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off", "-c", "max_connections=60")
        )
        wait_for(lambda: answers(self.port), 30)
        wait_for(lambda: subprocess.run(**self.command("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "assay", "-d", "postgres", "-c", "select 1")).returncode == 0, 30)
        return self

    def certificates(self, data):
        """An authority and a certificate for 127.0.0.1; connections in the clear are refused."""
        extensions = self.folder / "san.txt"
        extensions.write_text("subjectAltName=IP:127.0.0.1\n")
        extensions.chmod(0o644)
        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        for words in (
            ["req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority"],
            ["req", *new, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=board"],
            ["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
             "-extfile", "san.txt", "-out", "server.pem"],
        ):
            subprocess.run(**{**self.command("initdb"), "args": ["openssl", *words]}, check=True)
        access = data / "pg_hba.conf"
        access.write_text("hostssl all all 127.0.0.1/32 trust\n")
        return [word for name, value in (("ssl", "on"), ("ssl_cert_file", self.folder / "server.pem"), ("ssl_key_file", self.folder / "server.key"))
                for word in ("-c", f"{name}={value}")]

    @property
    def server(self):
        return f"postgres://assay@127.0.0.1:{self.port}"

    def query(self, database, sql):
        words = self.command("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "assay", "-d", database, "-Atc", sql)
        done = subprocess.run(**{**words, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def database(self, name):
        self.query("postgres", f"CREATE DATABASE {name}")
        return f"{self.server}/{name}"

    def stop(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)


class Proxy:
    """Forwards connections, until it is told to delay, to cut them, or to forward nothing and say nothing."""

    def __init__(self, target):
        self.target, self.port = target, free_port()
        self.delay, self.frozen = 0.0, False
        self.pairs = []
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
                other = socket.create_connection(("127.0.0.1", self.target), timeout=2)
                other.settimeout(None)
            except OSError:
                try:
                    one.close()
                except (OSError, UnboundLocalError):
                    pass
                if self.listener.fileno() < 0:
                    return
                continue
            self.pairs.append((one, other))
            for a, b in ((one, other), (other, one)):
                threading.Thread(target=self.forward, args=(a, b), daemon=True).start()

    def forward(self, a, b):
        try:
            while data := a.recv(65536):
                while self.frozen:
                    time.sleep(0.05)
                if self.delay:
                    time.sleep(self.delay)
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.close()
            except OSError:
                pass

    def cut(self):
        for pair in self.pairs:
            for s in pair:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs.clear()


def overview(server, who="alice"):
    return json.loads(assay("fleet", "jobs", *server.as_(who), "--format", "json", check=0).stdout)


def running(server):
    found = json.loads(assay("fleet", "workers", *server.as_("alice"), "--format", "json", check=0).stdout)
    return [worker["job"] for worker in found["workers"] if worker["job"]]


def in_background(*words):
    return subprocess.Popen([ASSAY, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def seed(server, who):
    """The secret of a key file."""
    return next(line for line in Path(server.key(who)).read_text().splitlines() if line.startswith("SU"))


async def publish(server, who, subject, payloads):
    client = await nats.connect(server.url, nkeys_seed_str=seed(server, who), inbox_prefix=f"_INBOX_{who}".encode())
    for payload in payloads:
        await client.publish(subject, payload)
    await client.flush()
    await client.close()


def job(number, **changes):
    """A job as the program writes it."""
    return {"protocol": 2, "id": f"cpu-job{number}", "submitter": "alice", "version": assay("--version").stdout.split()[-1], "pool": "cpu",
            "priority": "normal", "line": ["bench", "relu", "--quick", "--no-time", "--dtype=f32", "--format=json"], "inputs": [],
            "extra": "", "timeout": 60, "fresh": True, **changes}


def signed(server, who, text):
    key = nkeys.from_seed(seed(server, who).encode())
    return {"job": text, "key": key.public_key.decode(), "signature": base64.b64encode(key.sign(text.encode())).decode()}


def result(server, number):
    done = assay("fleet", "jobs", "--job", f"cpu-job{number}", *server.as_("alice"))
    return done.stdout + done.stderr if done.returncode == 0 else None
