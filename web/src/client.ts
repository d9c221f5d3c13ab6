// The page's side of the worker. A worker that takes too long, or that is stopped, is ended, and another takes its place.

import type { Failure, Input, Question, Reply } from "./protocol";

export class Failed extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

interface Waiting {
  answered(answer: never): void;
  failed(error: Failed): void;
  timer: number;
}

/** Milliseconds that one answer may take; loading a compiler has no limit. */
const LIMIT = 60_000;

export class Client {
  private worker: Worker;
  private next = 0;
  private waiting = new Map<number, Waiting>();
  private input: Input | undefined;
  private compiler = false;
  onprogress: (done: number, of: number) => void = () => {};

  constructor() {
    this.worker = this.start();
  }

  /** Asks; the answer's type is the caller's to know, by the protocol. */
  ask<T>(question: Question, limit = LIMIT): Promise<T> {
    if (question.ask === "open") this.input = question.input;
    const id = this.next++;
    return new Promise((answered, failed) => {
      const timer = question.ask === "clang" ? 0 : window.setTimeout(() => this.stop("took too long"), limit);
      this.waiting.set(id, { answered, failed, timer });
      this.worker.postMessage({ id, question });
    });
  }

  get busy(): boolean {
    return this.waiting.size > 0;
  }

  /** Ends what runs. The file is opened again in a new worker. */
  stop(why = "was stopped"): void {
    this.worker.terminate();
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    this.worker = this.start();
    if (this.compiler) void this.loadCompiler().catch(() => {});
    if (this.input) void this.ask({ ask: "open", input: this.input }).catch(() => {});
    for (const one of waiting) {
      clearTimeout(one.timer);
      one.failed(new Failed({ kind: "verdict", message: `It ${why}.` }));
    }
  }

  async loadCompiler(): Promise<void> {
    await this.ask<null>({ ask: "clang" });
    this.compiler = true;
  }

  private start(): Worker {
    const worker = new Worker(new URL("worker.js", document.baseURI), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Reply>) => this.hear(data);
    worker.onerror = (event) => {
      for (const one of this.waiting.values()) {
        clearTimeout(one.timer);
        one.failed(new Failed({ kind: "crash", message: event.message || "the worker did not start" }));
      }
      this.waiting.clear();
    };
    return worker;
  }

  private hear(reply: Reply): void {
    if ("progress" in reply) {
      this.onprogress(reply.progress, reply.of);
      return;
    }
    const one = this.waiting.get(reply.id);
    if (!one) return;
    this.waiting.delete(reply.id);
    clearTimeout(one.timer);
    if ("answer" in reply) {
      one.answered(reply.answer as never);
      return;
    }
    one.failed(new Failed(reply.failure));
    // A module that crashed is in no state to be asked again.
    if (reply.failure.kind === "crash") this.stop("ended with the module");
  }
}
