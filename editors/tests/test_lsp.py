"""`assay lsp` as an editor uses it, driven by pytest-lsp."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any, Callable

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from conftest import ASSAY, KERNELS

RACY = """#include <metal_stdlib>
using namespace metal;
// assay: launch racy --grid 64 --threadgroup 32 --buffer 0=zeros:f32:4
kernel void racy(device float* x [[buffer(0)]],
                 uint i [[thread_position_in_grid]]) {
    x[0] = i;
}
"""


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[ASSAY, "lsp"]))
async def client(lsp_client: LanguageClient):  # type: ignore[no-untyped-def]
    for method in ("workspace/codeLens/refresh", "workspace/inlayHint/refresh"):
        lsp_client.feature(method)(lambda *_: None)
    lsp_client.set_configuration({"assay": {"chip": "m2", "debounceMilliseconds": 200}})
    capabilities = client_capabilities("visual-studio-code")
    result = await lsp_client.initialize_session(
        types.InitializeParams(capabilities=capabilities, root_uri=KERNELS.as_uri())
    )
    assert result.server_info and result.server_info.name == "assay"
    yield lsp_client
    await lsp_client.shutdown_session()


class Document:
    """A document open in the editor."""

    def __init__(self, client: LanguageClient, path: Path, text: str | None = None) -> None:
        self.client, self.path, self.version = client, path, 1
        self.uri = path.as_uri()
        self.text = path.read_text() if text is None else text
        item = types.TextDocumentItem(uri=self.uri, language_id="metal", version=1, text=self.text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))

    @property
    def identifier(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(uri=self.uri)

    def line_of(self, part: str) -> int:
        return next(number for number, line in enumerate(self.text.splitlines()) if part in line)

    def replace(self, old: str, new: str) -> None:
        """Sends one change of a range, as typing does."""
        start = self.text.index(old)

        def position(offset: int) -> types.Position:
            before = self.text[:offset]
            return types.Position(line=before.count("\n"), character=offset - (before.rfind("\n") + 1))

        change = types.TextDocumentContentChangePartial(
            range=types.Range(start=position(start), end=position(start + len(old))), text=new
        )
        self.text = self.text.replace(old, new, 1)
        self.version += 1
        identifier = types.VersionedTextDocumentIdentifier(uri=self.uri, version=self.version)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(text_document=identifier, content_changes=[change])
        )

    def diagnostics(self) -> list[types.Diagnostic]:
        return list(self.client.diagnostics.get(self.uri, []))

    async def until(self, right: Callable[[list[types.Diagnostic]], bool], seconds: float = 60) -> list[types.Diagnostic]:
        """Waits until the diagnostics are right."""
        deadline = time.monotonic() + seconds
        while not (self.uri in self.client.diagnostics and right(self.diagnostics())):
            left = deadline - time.monotonic()
            assert left > 0, [one.message for one in self.diagnostics()]
            try:
                await asyncio.wait_for(
                    self.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS), min(left, 1)
                )
            except asyncio.TimeoutError:
                pass
        return self.diagnostics()

    async def hints(self) -> dict[int, str]:
        whole = types.Range(start=types.Position(line=0, character=0), end=types.Position(line=20000, character=0))
        parameters = types.InlayHintParams(text_document=self.identifier, range=whole)
        found = await self.client.text_document_inlay_hint_async(parameters)
        return {hint.position.line: str(hint.label) for hint in found or []}

    async def hints_with(self, wanted: str, seconds: float = 30) -> dict[int, str]:
        """Waits for a hint."""
        deadline = time.monotonic() + seconds
        while wanted not in str(found := await self.hints()):
            assert time.monotonic() < deadline, found
            await asyncio.sleep(0.1)
        return found

    async def hover(self, line: int, character: int = 8) -> str:
        position = types.Position(line=line, character=character)
        found = await self.client.text_document_hover_async(
            types.HoverParams(text_document=self.identifier, position=position)
        )
        return found.contents.value if found else ""  # type: ignore[union-attr]

    async def actions(self, line: int) -> list[types.CodeAction]:
        here = types.Range(start=types.Position(line=line, character=4), end=types.Position(line=line, character=4))
        diagnostics = [one for one in self.diagnostics() if one.range.start.line == line]
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(
                text_document=self.identifier, range=here, context=types.CodeActionContext(diagnostics=diagnostics)
            )
        )
        return [one for one in found or [] if isinstance(one, types.CodeAction)]


def rules(found: list[types.Diagnostic]) -> set[str]:
    return {str(one.code) for one in found if one.source == "assay"}


@pytest.mark.asyncio
async def test_a_kernel_with_a_launch(client: LanguageClient) -> None:
    document = Document(client, KERNELS / "matmul_naive.metal")
    found = await document.until(lambda found: "tile-loads" in rules(found))
    finding = next(one for one in found if one.code == "tile-loads")
    loads = document.line_of("acc += A")
    assert finding.range.start.line == loads and finding.severity == types.DiagnosticSeverity.Warning
    # Its manual page is a file that the editor can open.
    assert finding.code_description
    page = Path(finding.code_description.href.removeprefix("file://")).read_text()
    assert "## What to do" in page

    hints = await document.hints()
    signature = hints[document.line_of("kernel void matmul_naive")]
    assert "registers" in signature and "occupancy" in signature and "ms" in signature and "on m2" in signature
    assert "live" in hints[loads]
    shares = {line: int(label.split(" %")[0]) for line, label in hints.items() if "live" in label}
    assert max(shares, key=lambda line: shares[line]) in (loads, loads - 1) and sum(shares.values()) <= 103

    hover = await document.hover(loads)
    assert "of the predicted time" in hover and "device_load" in hover and "registers live" in hover
    assert "### tile-loads" in hover
    name = document.line_of("kernel void matmul_naive")
    assert "modelled time" in await document.hover(name, 14)
    assert await document.hover(0) == ""


@pytest.mark.asyncio
async def test_recipes_are_actions(client: LanguageClient, tmp_path: Path) -> None:
    path = tmp_path / "matmul.metal"
    path.write_text((KERNELS / "matmul_naive.metal").read_text())
    document = Document(client, path)
    await document.until(lambda found: "tile-loads" in rules(found))
    line = document.line_of("acc += A")
    actions = await document.actions(line)
    titles = [one.title for one in actions]
    assert any("coarsen" in title and "same bytes" in title for title in titles), titles
    # What answers the finding comes first, and says so.
    assert actions[0].diagnostics and actions[0].diagnostics[0].code == "tile-loads"
    action = next(one for one in actions if "coarsen" in one.title)
    resolved = await client.code_action_resolve_async(action)
    assert resolved.edit and resolved.edit.document_changes
    create, edit = resolved.edit.document_changes
    assert isinstance(create, types.CreateFile) and create.uri.endswith(".metal")
    assert create.uri.startswith(tmp_path.as_uri()) and create.uri != document.uri
    assert isinstance(edit, types.TextDocumentEdit)
    source = edit.edits[0].new_text  # type: ignore[union-attr]
    assert "// assay: launch matmul_naive" in source
    # Applied, it is a kernel like any other: without errors, and with a time.
    rewritten = tmp_path / Path(create.uri).name
    rewritten.write_text(source)
    applied = Document(client, rewritten)
    await applied.hints_with("on m2")
    assert not [one for one in applied.diagnostics() if one.severity == types.DiagnosticSeverity.Error]


@pytest.mark.asyncio
async def test_errors_come_and_go_with_edits(client: LanguageClient, tmp_path: Path) -> None:
    path = tmp_path / "saxpy.metal"
    path.write_text((KERNELS / "saxpy.metal").read_text())
    document = Document(client, path)
    await document.hints_with("registers")
    word = "kernel void saxpy"
    before = document.line_of(word)
    document.replace(word, "\n\nconstant flaot oops = 1;\n" + word)
    found = await document.until(lambda found: any(one.source == "clang" for one in found))
    error = next(one for one in found if one.source == "clang")
    assert error.range.start.line == document.line_of("flaot") and "flaot" in error.message
    assert (error.range.start.character, error.range.end.character) == (9, 14)
    # What was known about lines below has moved with them.
    hints = await document.hints()
    assert "registers" in hints.get(before + 3, ""), hints
    document.replace("constant flaot oops = 1;", "")
    await document.until(lambda found: not any(one.source == "clang" for one in found))
    client.text_document_did_close(types.DidCloseTextDocumentParams(text_document=document.identifier))
    await document.until(lambda found: found == [])


@pytest.mark.asyncio
async def test_a_lens_runs_the_kernel_with_checks(client: LanguageClient, tmp_path: Path) -> None:
    document = Document(client, tmp_path / "racy.metal", RACY)
    await document.until(lambda found: True)
    lenses: list[types.CodeLens] = []
    for _ in range(50):
        lenses = list(await client.text_document_code_lens_async(types.CodeLensParams(text_document=document.identifier)) or [])
        if lenses:
            break
        await asyncio.sleep(0.2)
    assert [lens.command.title for lens in lenses if lens.command] == ["run with check"]
    command = lenses[0].command
    assert command and lenses[0].range.start.line == document.line_of("kernel void racy")
    report = await client.workspace_execute_command_async(
        types.ExecuteCommandParams(command=command.command, arguments=command.arguments)
    )
    assert report["checked"][0]["kind"] == "group-race"
    found = await document.until(lambda found: any(one.source == "assay check" for one in found))
    race = next(one for one in found if one.source == "assay check")
    assert race.range.start.line == document.line_of("x[0] = i")
    assert any("racy" in message.message for message in client.messages)
    # The race is mended, and the next run finds nothing.
    document.replace("x[0] = i", "x[i & 3] += 0 * i")
    document.replace("--grid 64 --threadgroup 32", "--grid 4 --threadgroup 4")
    clean = await client.workspace_execute_command_async(
        types.ExecuteCommandParams(command=command.command, arguments=command.arguments)
    )
    assert clean["checked"] == []
    await document.until(lambda found: not any(one.source == "assay check" for one in found))


@pytest.mark.asyncio
async def test_an_endless_run_can_be_cancelled_and_nothing_blocks(client: LanguageClient, tmp_path: Path) -> None:
    endless = RACY.replace("x[0] = i;", "while (x[0] != 1) { x[uint(x[1]) & 3] += 2; }").replace("--grid 64", "--grid 1")
    document = Document(client, tmp_path / "endless.metal", endless)
    await document.until(lambda found: True)
    arguments = [document.uri, "racy"]
    run = asyncio.ensure_future(
        client.workspace_execute_command_async(types.ExecuteCommandParams(command="assay.runWithCheck", arguments=arguments))
    )
    await asyncio.sleep(1)
    start = time.monotonic()
    await document.hints()
    assert time.monotonic() - start < 0.5
    request = next(id for id, future in client.protocol._request_futures.items() if not future.done())
    client.cancel_request(types.CancelParams(id=request))
    with pytest.raises(Exception):
        await asyncio.wait_for(run, 10)


@pytest.mark.asyncio
async def test_settings_change_chip_and_launch(client: LanguageClient, tmp_path: Path) -> None:
    text = RACY.replace("// assay: launch", "// launch").replace("x[0] = i", "x[i] = i")
    document = Document(client, tmp_path / "set.metal", text)
    line = document.line_of("kernel void racy")

    assert " on " not in (await document.hints_with("registers"))[line]
    flags = "--grid 4096 --threadgroup 256 --buffer 0=zeros:f32:4096"
    client.set_configuration({"assay": {"chip": "m1-max", "launch": {"racy": flags}}})
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    assert "on m1-max" in (await document.hints_with(" on "))[line]


@pytest.mark.asyncio
async def test_odd_documents_do_no_harm(client: LanguageClient, tmp_path: Path) -> None:
    texts = {
        "empty": "",
        "helpers": "float f(float x) { return x; }\n",
        "broken": "kernel void k(",
        "other": "vertex float4 v() { return 0; }\n",
        "letters": "// ünïcödé 𝛑\nkernel void k(device float* x) { x[0] = 1; }\n",
        "launch": "// assay: launch k --gird 3\nkernel void k(device float* x) { x[0] = 1; }\n",
    }
    for name, text in texts.items():
        document = Document(client, tmp_path / f"{name}.metal", text)
        await document.until(lambda found: True)
        await document.hover(0)
        await document.actions(0)
    wild = types.Position(line=99999, character=99999)
    await client.text_document_hover_async(types.HoverParams(text_document=document.identifier, position=wild))
    closed = types.TextDocumentIdentifier(uri="file:///not/open.metal")
    assert await client.text_document_hover_async(types.HoverParams(text_document=closed, position=wild)) is None
    letters = Document(client, tmp_path / "letters2.metal", texts["letters"])
    letters.replace("x[0]", "y[0]")
    found = await letters.until(lambda found: any(one.source == "clang" for one in found))
    assert found[0].range.start == types.Position(line=1, character=33)


def source_of_thousands_of_lines(tmp_path: Path) -> Path:
    """llama.cpp's kernels if a checkout is named, else as many kernels of our own."""
    checkout = os.environ.get("LLAMA_CPP")
    if checkout:
        for header in ("ggml/src/ggml-common.h", "ggml/src/ggml-metal/ggml-metal-impl.h"):
            (tmp_path / Path(header).name).write_text((Path(checkout) / header).read_text())
        path = tmp_path / "ggml-metal.metal"
        path.write_text((Path(checkout) / "ggml/src/ggml-metal/ggml-metal.metal").read_text())
        return path
    body = (KERNELS / "matmul_tiled.metal").read_text()
    head = "#include <metal_stdlib>\nusing namespace metal;\n"
    kernel = "\n".join(line for line in body.splitlines() if not line.startswith(("#include", "using", "// assay")))
    copies = [kernel.replace("matmul_tiled", f"matmul_{number}") for number in range(13000 // (kernel.count("\n") + 1) + 1)]
    path = tmp_path / "large.metal"
    path.write_text(head + "\n".join(copies))
    return path


@pytest.mark.asyncio
async def test_a_source_of_thousands_of_lines(client: LanguageClient, tmp_path: Path) -> None:
    path = source_of_thousands_of_lines(tmp_path)
    lines = path.read_text().count("\n")
    # An error, so that the first diagnostics are the compiler's; then what the compiler needs by itself.
    broken = path.with_name("broken.metal")
    broken.write_text(path.read_text() + "\nconstant flaot oops = 1;\n")
    start = time.monotonic()
    subprocess.run([ASSAY, "inspect", str(broken)], capture_output=True)
    alone = time.monotonic() - start

    start = time.monotonic()
    document = Document(client, broken)
    found = await document.until(lambda found: any(one.source == "clang" for one in found), 240)
    first = time.monotonic() - start
    assert [one.range.start.line for one in found if one.source == "clang"] == [lines + 1]

    # While it compiles the mended text, questions are answered at once, and typing is not answered letter by letter.
    document.replace("constant flaot oops = 1;", "")
    for letter in "// typing":
        document.replace("using namespace metal;", f"using namespace metal;{letter}" if letter == "/" else "using namespace metal;")
        start = time.monotonic()
        await document.hover(lines // 2)
        assert time.monotonic() - start < 0.5
        await asyncio.sleep(0.03)
    await document.until(lambda found: not any(one.source == "clang" for one in found), 240)
    print(f"\n{lines} lines: assay inspect {alone:.1f} s, first diagnostics {first:.1f} s")
    assert first < alone * 1.5 + 1
