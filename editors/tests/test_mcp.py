"""`assay mcp` as clients use it: the Python SDK's client, and messages it would not send."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, AsyncIterator

import jsonschema
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

from conftest import ASSAY, SCHEMAS

ENDLESS = """
kernel void endless(device uint* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    while (x[0] != 1) { x[x[1] & 3] += 2; }
}
// assay: launch endless --grid 32 --threadgroup 32 --buffer 0=zeros:u32:4
"""

TINY = """
kernel void tiny(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2; }
// assay: launch tiny --size N=64 --grid N --threadgroup 32 --buffer 0=iota:f32:N
"""

RACY = """
kernel void racy(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[0] = i; }
// assay: launch racy --grid 64 --threadgroup 32 --buffer 0=zeros:f32:4
"""


@asynccontextmanager
async def session(root: Path, *flags: str, **more: Any) -> AsyncIterator[ClientSession]:
    server = StdioServerParameters(command=ASSAY, args=["mcp", "--root", str(root), *flags], cwd=str(root))
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write, **more) as client:
            await client.initialize()
            yield client


def run(work: Any) -> None:
    asyncio.run(asyncio.wait_for(work, 300))


def text(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


def document(result: Any) -> dict[str, Any]:
    assert not result.is_error, text(result)
    found: dict[str, Any] = result.structured_content
    return found


#: A call of every tool that must succeed, and a word of its answer.
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "inspect": ({"path": "matmul_naive.metal"}, "buffer 5"),
    "profile": ({"path": "matmul_naive.metal"}, "redundant-loads"),
    "predict": ({"path": "matmul_naive.metal", "chip": "m2,m1-max"}, "m1-max"),
    "run": ({"text": TINY, "print": ["0:4"]}, "0.0 2.0 4.0 6.0"),
    "compare": ({"before_text": TINY, "after_text": TINY, "buffers": [0]}, "the same, bit for bit"),
    "diff": ({"before_path": "saxpy.metal", "after_path": "saxpy.metal"}, "saxpy"),
    "rewrite": ({"path": "matmul_naive.metal", "list": True}, "coarsen"),
    "tune": ({"path": "matmul_naive.metal", "budget": "20s", "evaluations": 5, "timeout_seconds": 100}, "modelled on m2"),
    "disasm": ({"path": "saxpy.metal"}, "device_load"),
    "explain": ({"rule": "tile-loads"}, "What to do"),
    "bench": ({"kernels": ["relu"], "quick": True, "no_time": True}, "right"),
    "chips": ({"name": "m1-max"}, "M1 Max"),
}


def test_every_tool_is_listed_and_answers_by_its_schema(root: Path) -> None:
    async def work() -> None:
        async with session(root) as client:
            tools = (await client.list_tools()).tools
            assert sorted(tool.name for tool in tools) == sorted(CALLS)
            for tool in tools:
                assert tool.description and tool.output_schema and tool.input_schema["additionalProperties"] is False
                arguments, word = CALLS[tool.name]
                result = await client.call_tool(tool.name, arguments)
                found = document(result)
                assert word in text(result), (tool.name, text(result))
                name = found["schema"]["name"]
                jsonschema.validate(found, json.loads((SCHEMAS / f"{name}.json").read_text()))
                assert f"schemas/{name}.json" in tool.output_schema["description"]

    run(work())


def test_resources_are_pages_and_chips(root: Path) -> None:
    async def work() -> None:
        async with session(root) as client:
            resources = {str(one.uri): one for one in (await client.list_resources()).resources}
            for uri in ("assay://explain/narrow-loads", "assay://explain/SCIB", "assay://explain/coarsen"):
                page = (await client.read_resource(resources[uri].uri)).contents[0]
                assert "## What it does" in page.text
            chip = (await client.read_resource("assay://chips/m1-max")).contents[0]
            assert json.loads(chip.text)["chips"][0]["name"] == "m1-max"
            assert (await client.list_resource_templates()).resource_templates
            for bad in ("assay://chips/m99", "assay://explain/--format=html", "file:///etc/passwd", "assay://explain/../x"):
                with pytest.raises(MCPError):
                    await client.read_resource(bad)

    run(work())


def test_from_a_slow_kernel_to_a_proven_faster_one(root: Path) -> None:
    """What the prompt asks for, step by step, with the tools alone."""

    async def work() -> None:
        async with session(root) as client:
            prompt = await client.get_prompt("make-faster", {"path": "matmul_naive.metal", "chip": "m2"})
            assert "compare" in prompt.messages[0].content.text
            slow = {"path": "matmul_naive.metal"}

            inspected = document(await client.call_tool("inspect", slow))
            arguments = inspected["kernels"][0]["arguments"]
            written = [one["index"] for one in arguments if one["kind"] == "buffer" and "write" in (one["access"] or "")]
            assert written == [0]

            profile = document(await client.call_tool("profile", slow))["profiles"][0]
            recipes = {name for finding in profile["findings"] for name in finding.get("recipes", [])}
            assert recipes

            listed = document(await client.call_tool("rewrite", {**slow, "list": True}))
            steps = [step for choice in listed["choices"] if choice["recipe"] in recipes for step in choice["steps"]]
            assert steps

            best: dict[str, Any] | None = None
            for step in steps:
                result = await client.call_tool("rewrite", {**slow, "recipes": [step], "chip": "m2"})
                if result.is_error:
                    continue
                tried = document(result)
                speedup = tried.get("predicted", {}).get("speedup", 0)
                if tried["class"] == "E" and (best is None or speedup > best["predicted"]["speedup"]):
                    best = tried
            assert best is not None and best["predicted"]["call"] == "faster" and best["predicted"]["speedup"] > 1.5

            # The same bits at sizes that fit the tiles and at sizes that do not.
            for m, n, k in ((64, 64, 64), (37, 53, 29), (1, 1, 1)):
                sizes = {"M": m, "N": n, "K": k}
                launches = []
                for comment in ((root / "matmul_naive.metal").read_text(), best["source"]):
                    line = next(line for line in comment.splitlines() if "assay: launch" in line)
                    for name, size in sizes.items():
                        line = line.replace(f"--size {name}=1024", f"--size {name}={size}")
                    launches.append(line)
                compared = await client.call_tool(
                    "compare",
                    {
                        "before_path": "matmul_naive.metal",
                        "after_text": best["source"],
                        "launch": launches[0],
                        "after_launch": launches[1],
                        "buffers": written,
                    },
                )
                assert document(compared)["same"], text(compared)
                checked = await client.call_tool("run", {"text": best["source"], "launch": launches[1], "check": True})
                assert document(checked)["checked"] == []

            diff = document(
                await client.call_tool("diff", {"before_path": "matmul_naive.metal", "after_text": best["source"], "chip": "m2"})
            )
            assert diff["kernels"][0]["predicted"]["call"] == "faster"

            # The result is kept where it may be, once.
            keep = {**slow, "recipes": best["recipes"], "output": "faster.metal"}
            assert "Written to" in text(await client.call_tool("rewrite", keep))
            assert (root / "faster.metal").read_text() == best["source"]
            assert (await client.call_tool("rewrite", keep)).is_error
            print(f"{best['recipes']}: {best['predicted']['before']['time_us']} → {best['predicted']['after']['time_us']} µs modelled")

    run(work())


def test_what_a_run_with_check_finds_is_a_result(root: Path) -> None:
    async def work() -> None:
        async with session(root) as client:
            result = await client.call_tool("run", {"text": RACY, "check": True})
            # Threads of different threadgroups first: no barrier helps them.
            assert document(result)["checked"][0]["kind"] == "group-race"
            assert "race" in text(result)
            wrong = TINY.replace("*= 2", "*= 3")
            compared = document(await client.call_tool("compare", {"before_text": TINY, "after_text": wrong, "buffers": [0]}))
            assert not compared["same"] and compared["buffers"][0]["differ"] == 63

    run(work())


def test_nothing_outside_the_roots_is_read_or_written(root: Path) -> None:
    outside = root.parent / "outside"
    (root / "link.metal").symlink_to(outside / "secret.metal")
    (root / "folder").symlink_to(outside)
    (root / "link.h").symlink_to(outside / "secret.h")
    kernel = "kernel void k(device float* x) { x[0] = 1; }\n"
    (root / "beside.h").write_text("constant float beside = 2;\n")

    async def work() -> None:
        async with session(root) as client:
            for path in (
                "../outside/secret.metal",
                str(outside / "secret.metal"),
                "link.metal",
                "folder/secret.metal",
                "/etc/passwd",
                "/proc/self/environ",
                "/dev/zero",
                "folder",
                ".",
                "",
                "--format=html",
                "-",
                "a\0b",
                "x" * 5000,
            ):
                for tool in ("profile", "inspect", "disasm", "run"):
                    result = await client.call_tool(tool, {"path": path})
                    assert result.is_error and "secret" not in text(result).replace("secret.metal", ""), (tool, path, text(result))

            # What a source makes the compiler read.
            hostile = [
                f'#include "{outside}/secret.h"\n' + kernel,
                '#include "../outside/secret.h"\n' + kernel,
                '#include "link.h"\n' + kernel,
                '#include "folder/secret.h"\n' + kernel,
                f'#define FILE "{outside}/secret.h"\n#include FILE\n' + kernel,
                f'#include "{outside}/secret.metal"\n' + kernel,
                f'constant uchar bytes[] = {{\n#embed "{outside}/secret.h"\n}};\n' + kernel,
                f'# 1 "{outside}/secret.h"\nint broken broken;\n' + kernel,
                f'#line 1 "{outside}/secret.h"\nint broken broken;\n' + kernel,
            ]
            for source in hostile:
                for tool in ("profile", "inspect", "run"):
                    result = await client.call_tool(tool, {"text": source})
                    said = text(result) + json.dumps(result.structured_content)
                    assert result.is_error, said
                    assert "the_secret_word" not in said and "the secret" not in said, (source, said)
            fine = await client.call_tool("profile", {"text": '#include "beside.h"\n' + kernel.replace("1;", "beside;")})
            assert not fine.is_error, text(fine)

            # Flags where values belong, folders and arrays.
            for tool, arguments in (
                ("profile", {"path": "saxpy.metal", "function": "saxpy --baseline=/etc/passwd"}),
                ("profile", {"path": "saxpy.metal", "include_folders": [str(outside)]}),
                ("profile", {"path": "saxpy.metal", "launch": "--chip-file /etc/passwd"}),
                ("profile", {"path": "saxpy.metal", "out": "x.json"}),
                ("run", {"text": TINY, "launch": f"--grid 1 --threadgroup 1 --buffer 0={outside}/secret.npy"}),
                ("run", {"text": TINY, "launch": "--grid 1 --threadgroup 1 --buffer 0=/etc/passwd"}),
                ("run", {"text": TINY, "launch": "--grid 1 --threadgroup 1 --out 0=/tmp/x.npy"}),
                ("explain", {"rule": "--help"}),
                ("bench", {"kernels": ["--board=/tmp/x"]}),
                ("bench", {"kernels": ["relu"], "source_path": "../outside/secret.metal"}),
                ("bench", {"kernels": ["relu"], "no_time": True, "source_text": f'#include "{outside}/secret.h"\n' + kernel}),
                ("rewrite", {"path": "matmul_naive.metal", "recipes": ["threadgroup:x=32,y=8"], "output": "../out.metal"}),
                ("rewrite", {"path": "matmul_naive.metal", "recipes": ["threadgroup:x=32,y=8"], "output": "folder/out.metal"}),
                ("rewrite", {"path": "matmul_naive.metal", "recipes": ["threadgroup:x=32,y=8"], "output": "saxpy.metal"}),
            ):
                result = await client.call_tool(tool, arguments)
                said = text(result) + json.dumps(result.structured_content)
                right = result.structured_content.get("kernels", [{"right": True}])[0].get("right") is False
                assert result.is_error or right, (tool, arguments, said)
                assert "the_secret_word" not in said and "root:" not in said, said

    run(work())
    assert sorted(path.name for path in outside.iterdir()) == ["secret.h", "secret.metal"]
    assert not (root.parent / "out.metal").exists()


def test_texts_and_kernels_without_end(root: Path) -> None:
    async def work() -> None:
        async with session(root, "--timeout", "20") as client:
            result = await client.call_tool("profile", {"text": "/" * (100 << 20)})
            assert result.is_error and "100 MiB" in text(result)
            start = time.monotonic()
            result = await client.call_tool("run", {"text": ENDLESS, "timeout_seconds": 2})
            assert result.is_error and "2 s" in text(result)
            assert time.monotonic() - start < 6
            result = await client.call_tool("run", {"text": ENDLESS, "max_steps": 100000})
            assert result.is_error and "step" in text(result)
            # Memory: a buffer of a terabyte, templates without end.
            huge = TINY.replace("N=64", "N=250000000000")
            assert (await client.call_tool("run", {"text": huge})).is_error
            deep = "template <int N> struct d { static constexpr int v = d<N + 1>::v; };\nconstant int x = d<0>::v;\n" + TINY
            assert (await client.call_tool("profile", {"text": deep})).is_error
            assert not (await client.call_tool("run", {"text": TINY})).is_error

    run(work())


def children(server: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(server)], capture_output=True, text=True).stdout
    return [int(line) for line in found.split()]


def test_a_call_can_be_cancelled_while_it_runs(root: Path) -> None:
    """Raw messages: the client's own cancellation hides what the server does."""
    server = subprocess.Popen(
        [ASSAY, "mcp", "--root", str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert server.stdin and server.stdout

    def send(**message: Any) -> None:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()

    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    send(id=1, method="initialize", params=client)
    assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "assay"
    send(method="notifications/initialized")
    call = {"name": "run", "arguments": {"text": ENDLESS}, "_meta": {"progressToken": "p"}}
    send(id=2, method="tools/call", params=call)
    # The call tells that it goes on, so it is in the middle.
    told = json.loads(server.stdout.readline())
    assert told["method"] == "notifications/progress" and told["params"]["progressToken"] == "p"
    workers = children(server.pid)
    assert len(workers) == 1
    send(method="notifications/cancelled", params={"requestId": 2, "reason": "enough"})
    deadline = time.monotonic() + 5
    while children(server.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not children(server.pid)
    # The server goes on.
    send(id=3, method="tools/call", params={"name": "chips", "arguments": {}})
    while json.loads(line := server.stdout.readline()).get("id") != 3:
        pass
    assert "M1 Max" in line
    # A server that is killed takes its workers with it.
    send(id=4, method="tools/call", params={"name": "run", "arguments": {"text": ENDLESS}})
    deadline = time.monotonic() + 10
    while not (workers := children(server.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    server.send_signal(signal.SIGKILL)
    server.wait()
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{worker}").exists() for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert workers and not any(Path(f"/proc/{worker}").exists() for worker in workers)


def test_ten_calls_at_once(root: Path) -> None:
    async def work() -> None:
        async with session(root) as client:
            alone = text(await client.call_tool("run", {"text": TINY, "print": ["0:8"]})).splitlines()[-1]
            calls = [client.call_tool("run", {"text": TINY, "print": ["0:8"]}) for _ in range(5)]
            calls += [client.call_tool("profile", {"path": "saxpy.metal"}) for _ in range(4)]
            calls += [client.call_tool("run", {"text": ENDLESS, "timeout_seconds": 3})]
            results = await asyncio.gather(*calls)
            assert all(text(result).splitlines()[-1] == alone for result in results[:5])
            assert len({text(result) for result in results[5:9]}) == 1 and not results[5].is_error
            assert results[9].is_error

    run(work())


#: Two thousand threadgroups of a loop: long enough to be heard of.
LONG = """
kernel void slow(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < 20000; ++k) { sum = sum * x[i & 63] + x[k & 63]; }
    x[64 + i] = sum;
}
// assay: launch slow --size G=2000 --grid G*32 --threadgroup 32 --buffer 0=random:f32:G*32+64
"""


def test_progress_is_what_the_call_does(root: Path) -> None:
    """Threadgroups that have ended, candidates that were tried, stages: not the time that has passed."""

    async def work() -> None:
        told: list[tuple[float, float | None, str]] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            assert message
            told.append((progress, total, message))

        async def heard(tool: str, arguments: dict[str, Any]) -> list[str]:
            told.clear()
            await client.call_tool(tool, arguments, progress_callback=hear)
            places = [progress for progress, _, _ in told]
            assert places == sorted(set(places)), places
            assert all(total is None or progress <= total for progress, total, _ in told), told
            messages = [message for _, _, message in told]
            assert all(message.startswith(f"{tool}: ") for message in messages), messages
            return messages

        async with session(root, "--jobs", "1") as client:
            counts = [message for message in await heard("run", {"text": LONG, "timeout_seconds": 60}) if "of 2000 threadgroups" in message]
            done = [int(message.split()[1]) for message in counts]
            assert len(done) >= 2 and done == sorted(done) and done[-1] > done[0], counts
            # What does not get on is not said to.
            endless = await heard("run", {"text": ENDLESS, "timeout_seconds": 3})
            assert {int(message.split()[1]) for message in endless if "threadgroups" in message} <= {0}, endless
            tuned = await heard("tune", {"path": "matmul_naive.metal", "budget": "20s", "evaluations": 4})
            assert any("of 4 candidates" in message for message in tuned), tuned
            predicted = await heard("predict", {"path": "matmul_naive.metal", "chip": "m2,m1-max"})
            assert any("predicting matmul_naive on m1-max" in message for message in predicted), predicted
            examined = await heard("bench", {"kernels": ["relu", "abs"], "quick": True, "no_time": True})
            assert "bench: 0 of 2 kernels, relu now" in examined and "bench: examining abs in f32" in examined, examined
            # A call that has to wait says so.
            first = asyncio.create_task(client.call_tool("run", {"text": ENDLESS, "timeout_seconds": 3}))
            await asyncio.sleep(0.5)
            waited = await heard("chips", {})
            assert "waiting for other calls" in waited[0], waited
            await first

    run(work())


class Web:
    """A server over HTTP, on a port that was free."""

    def __init__(self, root: Path, *flags: str, token: str | None = "0123456789abcdef-token") -> None:
        environment = {name: value for name, value in os.environ.items() if name != "ASSAY_MCP_TOKEN"}
        if token is not None:
            environment["ASSAY_MCP_TOKEN"] = token
        command = [ASSAY, "mcp", "--root", str(root), "--http", "127.0.0.1:0", *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        assert self.process.stderr
        self.said = self.process.stderr.readline()
        self.url = self.said.split(" at ")[-1].strip()
        self.port = int(self.url.split(":")[2].split("/")[0])
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def __enter__(self) -> Web:
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.kill()
        self.process.wait()

    def ask(self, path: str = "/mcp", method: str = "POST", body: bytes = b"{}", **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **self.headers}
        connection.request(method, path, body, {**sent, **{name.replace("_", "-"): value for name, value in headers.items()}})
        answer = connection.getresponse()
        said = answer.read().decode() if method == "POST" and answer.status >= 400 else ""
        connection.close()
        return answer.status, said


@asynccontextmanager
async def web_session(web: Web) -> AsyncIterator[ClientSession]:
    async with create_mcp_http_client(headers=web.headers) as transport:
        async with streamable_http_client(web.url, http_client=transport) as (read, write, *_):
            async with ClientSession(read, write) as client:
                await client.initialize()
                yield client


def test_the_tools_over_http(root: Path) -> None:
    async def work(web: Web) -> None:
        told: list[str] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append(message or "")

        async with web_session(web) as client, web_session(web) as other:
            tools = (await client.list_tools()).tools
            assert sorted(tool.name for tool in tools) == sorted(CALLS)
            assert "0.0 2.0 4.0 6.0" in text(await client.call_tool("run", {"text": TINY, "print": ["0:4"]}, progress_callback=hear))
            assert any("running tiny" in message for message in told), told
            # Roots are kept here too, and sessions share the turns.
            assert (await other.call_tool("profile", {"path": "/etc/passwd"})).is_error
            calls = [session.call_tool("profile", {"path": "saxpy.metal"}) for session in (client, other) * 3]
            assert len({text(result) for result in await asyncio.gather(*calls)}) == 1
            assert (await other.call_tool("run", {"text": ENDLESS, "timeout_seconds": 2})).is_error
            large = await client.call_tool("profile", {"text": "/" * (5 << 20)})
            assert large.is_error and "MiB" in text(large)

    with Web(root) as web:
        run(work(web))


def test_strangers_do_not_reach_the_server_over_http(root: Path) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    initialize = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode()
    with Web(root) as web:
        assert web.ask(body=initialize)[0] == 200
        for wrong in ("", "Bearer wrong", "Basic 0123456789abcdef-token", "Bearer 0123456789abcdef-toke"):
            assert web.ask(body=initialize, Authorization=wrong)[0] == 401, wrong
        # A web page, and a name that somebody pointed at this machine.
        for origin in ("http://evil.example", "http://localhost:3000", "null"):
            assert web.ask(body=initialize, Origin=origin)[0] == 403, origin
        assert web.ask(body=initialize, Host="evil.example")[0] == 403
        assert web.ask("/", body=initialize)[0] == 404
        assert web.ask("/mcp/../etc/passwd", method="GET")[0] == 404
        assert web.ask(body=b"no json")[0] in (400, 415)
        # What is too large is refused while it is still being sent.
        try:
            assert web.ask(body=b"[" * (30 << 20))[0] == 413
        except (BrokenPipeError, ConnectionResetError):
            pass
        for half in (b"", b"GET", b"POST /mcp HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", bytes(range(256)) * 40):
            with socket.create_connection(("127.0.0.1", web.port)) as raw:
                raw.sendall(half)
        assert web.ask(body=initialize)[0] == 200
    with Web(root, "--no-token", token=None) as web:
        assert web.ask(body=initialize)[0] == 200
        assert web.ask(body=initialize, Origin="http://evil.example")[0] == 403
    with Web(root, token=None) as web:
        assert web.process.stderr
        made = web.process.stderr.readline().split("Bearer ")[1].strip()
        assert len(made) == 48 and web.ask(body=initialize)[0] == 401
        assert web.ask(body=initialize, Authorization=f"Bearer {made}")[0] == 200
    for flags, word in (
        (["--http", "0.0.0.0:0", "--no-token"], "--no-token"),
        (["--http", "here"], "IP:PORT"),
        (["--http", "0", "--token-file", "/no/such/file"], "/no/such/file"),
        (["--http", "0", "-q"], "ASSAY_MCP_TOKEN"),
        (["--no-token"], "--http"),
    ):
        environment = {name: value for name, value in os.environ.items() if name != "ASSAY_MCP_TOKEN"}
        bad = subprocess.run([ASSAY, "mcp", *flags], capture_output=True, text=True, timeout=20, env=environment)
        assert bad.returncode in (2, 3) and word in bad.stderr, (flags, bad.stderr)


def test_no_session_and_bad_roots_are_said() -> None:
    bad = subprocess.run([ASSAY, "mcp", "--root", "/no/such/folder"], capture_output=True, text=True)
    assert bad.returncode == 3 and "/no/such/folder" in bad.stderr
    bad = subprocess.run([ASSAY, "mcp", "-q"], input="hello\n", capture_output=True, text=True, timeout=20, env={**os.environ})
    assert bad.returncode == 3 and "Model Context Protocol" in bad.stderr
