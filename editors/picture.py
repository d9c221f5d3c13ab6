"""Draws docs/images/editor.svg: a kernel as an editor shows it, from what `assay lsp` really answers.

    python3 editors/picture.py target/debug/assay examples/kernels/matmul_naive.metal > docs/images/editor.svg
"""

from __future__ import annotations

import json
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

program, path = sys.argv[1], Path(sys.argv[2])
server = subprocess.Popen([program, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert server.stdin and server.stdout
waiting = 0


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    server.stdin.flush()


def receive() -> dict[str, Any]:
    length = 0
    while line := server.stdout.readline().strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return dict(json.loads(server.stdout.read(length)))


def ask(method: str, **parameters: Any) -> Any:
    global waiting
    waiting += 1
    send({"id": waiting, "method": method, "params": parameters})
    while (answer := receive()).get("id") != waiting:
        pass
    return answer["result"]


text = path.read_text()
document = {"uri": f"file:///kernels/{path.name}"}
ask("initialize", capabilities={}, processId=None, rootUri=None)
send({"method": "initialized", "params": {}})
send({"method": "textDocument/didOpen", "params": {"textDocument": {**document, "languageId": "metal", "version": 1, "text": text}}})
while not (message := receive()).get("params", {}).get("diagnostics"):
    pass
findings = [one for one in message["params"]["diagnostics"] if one["severity"] < 4]
whole = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
hints = {hint["position"]["line"]: hint["label"] for hint in ask("textDocument/inlayHint", textDocument=document, range=whole)}
lenses = {lens["range"]["start"]["line"]: lens["command"]["title"] for lens in ask("textDocument/codeLens", textDocument=document)}
finding = findings[0]
at = finding["range"]["start"]["line"]
hover = ask("textDocument/hover", textDocument=document, position={"line": at, "character": 8})["contents"]["value"]
ask("shutdown")
send({"method": "exit"})

FIRST, CHARACTER, LINE = 4, 7.85, 21
rows: list[str] = []
y = 30.0


def put(x: float, words: str, colour: str, more: str = "") -> None:
    rows.append(f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" {more} xml:space="preserve">{escape(words)}</text>')


for number, line in enumerate(text.splitlines()[: at + 4]):
    if number < FIRST:
        continue
    if number in lenses:
        put(52, lenses[number], "#6e7781", 'font-size="11"')
        y += LINE
    put(16, f"{number + 1:>3}", "#8c959f")
    put(52, line, "#1f2328")
    if number == at:
        start = 52 + (len(line) - len(line.lstrip())) * CHARACTER
        end = 52 + len(line) * CHARACTER
        rows.append(f'<path d="M{start:.0f} {y + 4:.0f} H{end:.0f}" stroke="#bf8700" stroke-width="2" stroke-dasharray="3 2"/>')
    if number in hints:
        put(52 + (len(line) + 2) * CHARACTER, hints[number], "#0969da", 'font-size="12"')
    y += LINE
y += 6
box = y
y += 22
for words in [f"{finding['code']}: {finding['message'].splitlines()[0]}", *finding["message"].splitlines()[1:], ""]:
    put(40, words if len(words) < 112 else words[:111] + "…", "#9a6700")
    y += LINE
lines = [line for line in hover.split("---")[0].splitlines() if line and not line.startswith("```")]
for words in lines[:10]:
    put(40, words.replace("**", "")[:118], "#1f2328")
    y += LINE
height = y + 10
print(
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 {height:.0f}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13">'
    f'<rect width="1000" height="{height:.0f}" rx="6" fill="#ffffff" stroke="#d0d7de"/>'
    f'<rect x="28" y="{box:.0f}" width="944" height="{height - box - 14:.0f}" rx="4" fill="#f6f8fa" stroke="#d0d7de"/>'
)
print("\n".join(rows))
print("</svg>")
