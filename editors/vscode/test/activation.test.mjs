// The packaged extension activated in a stand-in for VS Code: it starts the server, and stops it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import Module from "node:module";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const here = dirname(fileURLToPath(import.meta.url));
const assay = process.env.ASSAY ?? resolve(here, "../../..", "target/debug/assay");

const disposable = { dispose() {} };
const errors = [];
const commands = new Map();

/** Whatever the client's library asks of the editor and this test does not care about. */
function anything(known = {}) {
  const target = function () {};
  return new Proxy(target, {
    get(_, name) {
      if (name in known) return known[name];
      if (name === "prototype") return target.prototype;
      if (name === "then" || name === Symbol.iterator || name === Symbol.toPrimitive) return undefined;
      if (typeof name === "string" && /^on[A-Z]/.test(name)) return () => disposable;
      if (typeof name === "string" && /^(register|create|set)[A-Z]/.test(name)) return () => anything({ dispose() {} });
      return (known[name] = anything());
    },
    apply: () => anything(),
    construct: (_, __, made) => Object.create(made?.prototype ?? Object.prototype),
  });
}

class EventEmitter {
  listeners = [];
  event = (listener) => (this.listeners.push(listener), disposable);
  fire(value) { this.listeners.forEach((listener) => listener(value)); }
  dispose() {}
}

const values = { path: assay, chip: "m2" };
const stands = {
  version: "1.91.0",
  EventEmitter,
  Disposable: Object.assign(class { constructor(end) { this.dispose = end ?? (() => {}); } }, { from: () => disposable }),
  CancellationTokenSource: class { token = { isCancellationRequested: false, onCancellationRequested: () => disposable }; cancel() {} dispose() {} },
  CancellationError: class extends Error {},
  commands: anything({ registerCommand: (name, run) => (commands.set(name, run), disposable), getCommands: async () => [] }),
  env: anything({ appName: "stand-in", language: "en", appHost: "desktop" }),
  window: anything({
    visibleTextEditors: [],
    tabGroups: anything({ all: [] }),
    showErrorMessage: async (text) => void errors.push(text),
  }),
  workspace: anything({
    textDocuments: [],
    notebookDocuments: [],
    workspaceFolders: undefined,
    getConfiguration: () => anything({ get: (name, otherwise) => values[name] ?? otherwise, inspect: () => undefined }),
  }),
  languages: anything({ match: () => 0, createDiagnosticCollection: () => anything({ set() {}, dispose() {}, clear() {} }) }),
};
// Every name that the editor exports.
const types = readFileSync(join(here, "../node_modules/@types/vscode/index.d.ts"), "utf8");
const names = [...types.matchAll(/^\s*export (?:abstract )?(?:class|enum|namespace|const|function) (\w+)/gm)].map((found) => found[1]);
const vscode = Object.fromEntries([...new Set(names), ...Object.keys(stands)].map((name) => [name, stands[name] ?? anything()]));

const load = Module._load;
Module._load = function (name, ...rest) {
  return name === "vscode" ? vscode : load.call(this, name, ...rest);
};

test("activation starts the server and deactivation stops it", { timeout: 60_000 }, async () => {
  const extension = require(join(here, "../out/extension.js"));
  const context = { subscriptions: [] };
  await extension.activate(context);
  assert.deepEqual(errors, []);
  assert.ok(commands.has("assay.restart"));
  await extension.deactivate();
});

test("a server that is not there is told to the user", { timeout: 60_000 }, async () => {
  values.path = "/no/such/assay";
  await commands.get("assay.restart")();
  assert.ok(errors.some((text) => text.includes("/no/such/assay lsp")), errors.join("\n"));
});
