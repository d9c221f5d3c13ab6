// The extension's half of the protocol, with the library that VS Code's client is made of, against the real server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const here = dirname(fileURLToPath(import.meta.url));
const repository = resolve(here, "../../..");
const assay = process.env.ASSAY ?? join(repository, "target/debug/assay");

function server() {
  const out = join(mkdtempSync(join(tmpdir(), "assay-vscode-")), "server.cjs");
  require("esbuild").buildSync({ entryPoints: [join(here, "../src/server.ts")], outfile: out, format: "cjs", platform: "node" });
  return require(out);
}

const settings = (values) => ({ get: (name, otherwise) => values[name] ?? otherwise });

test("settings become a command line and options", () => {
  const { command, initializationOptions, startFailure } = server();
  assert.deepEqual(command(settings({})), { command: "assay", args: ["lsp"] });
  assert.deepEqual(command(settings({ path: "/opt/assay " })), { command: "/opt/assay", args: ["lsp"] });
  const options = initializationOptions(settings({ chip: "m1", launch: "", hints: { lines: false } }));
  assert.deepEqual(options, { chip: "m1", hints: { lines: false } });
  assert.match(startFailure("assay", new Error("ENOENT")), /assay\.path/);
});

test("every setting of the manifest is known to the server", () => {
  const { SERVER_SETTINGS } = server();
  const manifest = JSON.parse(readFileSync(join(here, "../package.json"), "utf8"));
  const names = Object.keys(manifest.contributes.configuration.properties).map((name) => name.replace("assay.", ""));
  assert.deepEqual(names.filter((name) => name !== "path").sort(), [...SERVER_SETTINGS].sort());
});

test("the server answers as the client expects", { timeout: 60_000 }, async () => {
  const protocol = require("vscode-languageserver-protocol/node");
  const { command, initializationOptions } = server();
  const chosen = settings({ path: assay, chip: "m1-max" });
  const { command: program, args } = command(chosen);
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const connection = protocol.createMessageConnection(
    new protocol.StreamMessageReader(child.stdout),
    new protocol.StreamMessageWriter(child.stdin),
  );
  const found = new Promise((done) => {
    connection.onNotification(protocol.PublishDiagnosticsNotification.type, (parameters) => {
      if (parameters.diagnostics.some((one) => one.code === "tile-loads")) done(parameters);
    });
  });
  connection.listen();
  const initialized = await connection.sendRequest(protocol.InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    capabilities: {},
    initializationOptions: initializationOptions(chosen),
  });
  assert.equal(initialized.serverInfo.name, "assay");
  assert.equal(initialized.capabilities.textDocumentSync, protocol.TextDocumentSyncKind.Incremental);
  await connection.sendNotification(protocol.InitializedNotification.type, {});
  const path = join(repository, "examples/kernels/matmul_naive.metal");
  const uri = pathToFileURL(path).href;
  const text = readFileSync(path, "utf8");
  await connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: "metal", version: 1, text },
  });
  await found;
  const range = { start: { line: 0, character: 0 }, end: { line: 100, character: 0 } };
  const hints = await connection.sendRequest(protocol.InlayHintRequest.type, { textDocument: { uri }, range });
  assert.ok(hints.some((hint) => /registers .* on m1-max/.test(hint.label)));
  await connection.sendRequest(protocol.ShutdownRequest.type);
  await connection.sendNotification(protocol.ExitNotification.type);
  const code = await new Promise((done) => child.on("exit", done));
  assert.equal(code, 0);
});
