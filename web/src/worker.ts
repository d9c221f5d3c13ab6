// The worker: answers questions one after the other. The page ends it when an answer takes too long.

import { type Bundle, call } from "./clang";
import { Engine, failure, type Module } from "./engine";
import type { Question, Reply } from "./protocol";

const say = (reply: Reply): void => postMessage(reply);
const at = (path: string): URL => new URL(path, location.href);

async function load(): Promise<Module> {
  const module = (await import(at("engine.js").href)) as Module & { default(options: { module_or_path: URL }): Promise<void> };
  await module.default({ module_or_path: at("engine_bg.wasm") });
  return module;
}

const ready = load();
const engine = ready.then((module) => new Engine(module));
let last: Promise<unknown> = Promise.resolve();

interface Made {
  version: string;
  bytes: number;
  headers: { name: string; file: string }[];
}

/** Fetches through a cache that outlives the page, so that the compiler is loaded once. */
function keeping(version: string): typeof fetch {
  const fresh = fetch.bind(globalThis);
  return async (input, init) => {
    const kept = await caches.open(`clang-of-assay ${version}`).catch(() => undefined);
    const address = String(input instanceof Request ? input.url : input);
    const known = await kept?.match(address);
    if (known) return known;
    const answer = await fresh(input, init);
    // A browser that has no room left loads it again next time.
    if (answer.ok) await kept?.put(address, answer.clone()).catch(() => undefined);
    return answer;
  };
}

async function loadClang(): Promise<null> {
  const module = await ready;
  const made = (await (await fetch(at("clang/made.json"))).json()) as Made;
  globalThis.fetch = keeping(made.version);
  const bundle = (await import(at("clang/bundle.js").href)) as Bundle;
  const clang = await call(bundle, (done) => say({ progress: Math.min(done, made.bytes), of: made.bytes }));
  Object.assign(globalThis, { assayClang: clang });
  const keep = async ({ name, file }: Made["headers"][number]) => {
    const answer = await fetch(at(file));
    if (answer.ok) module.clang_keep(name, new Uint8Array(await answer.arrayBuffer()));
  };
  // The first is for Metal's default arithmetic; for the others there is time.
  const [first, ...others] = made.headers;
  if (first) await keep(first);
  for (const other of others) void keep(other).catch(() => undefined);
  module.clang_loaded(made.version);
  return null;
}

onmessage = ({ data }: MessageEvent<{ id: number; question: Question }>) => {
  const { id, question } = data;
  last = last.then(async () => {
    try {
      const answer = question.ask === "clang" ? await loadClang() : (await engine).answer(question);
      say({ id, answer });
    } catch (thrown) {
      say({ id, failure: failure(thrown) });
    }
  });
};
