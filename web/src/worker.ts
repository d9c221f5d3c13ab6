// The worker: answers questions one after the other. The page ends it when an answer takes too long.

import { clang } from "./clang";
import { Engine, failure, type Module } from "./engine";
import type { Question, Reply } from "./protocol";

const say = (reply: Reply, transfer: Transferable[] = []): void => postMessage(reply, { transfer });

async function engine(): Promise<Engine> {
  const address = new URL("engine.js", location.href).href;
  const module = (await import(address)) as Module & { default(options: { module_or_path: URL }): Promise<void> };
  await module.default({ module_or_path: new URL("engine_bg.wasm", location.href) });
  return new Engine(module);
}

const ready = engine();
let last: Promise<void> = Promise.resolve();

onmessage = ({ data }: MessageEvent<{ id: number; question: Question }>) => {
  const { id, question } = data;
  last = last.then(async () => {
    try {
      const engine = await ready;
      if (question.ask === "clang") {
        await clang((progress, of) => say({ progress, of }));
        say({ id, answer: null });
        return;
      }
      say({ id, answer: engine.answer(question) });
    } catch (thrown) {
      say({ id, failure: failure(thrown) });
    }
  });
};
