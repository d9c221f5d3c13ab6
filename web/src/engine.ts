// The engine's module in this thread: one file is open at a time.

import { type Answer, type Failure, type Input, type Question, type Ran } from "./protocol";

/** The module that wasm-bindgen wrote. */
export interface Module {
  Opened: new (name: string, bytes: Uint8Array) => Opened;
  diff(before: Opened, after: Opened, beforeAsk: string, afterAsk: string): Answer & Freed;
  chips(): string;
  explain(rule: string): string;
  clang_loaded(version: string): void;
  clang_keep(name: string, bytes: Uint8Array): void;
}

interface Freed {
  free(): void;
}

interface Opened extends Freed {
  give(bitcode: Uint8Array, checked: boolean): void;
  what(): string;
  kernels(holding: string, from: number, most: number): string;
  profile(ask: string): Answer & Freed;
  predict(ask: string): Answer & Freed;
  program(ask: string): Answer & Freed;
  run(ask: string): Ran & Freed;
  check(ask: string): Ran & Freed;
}

export class Engine {
  private opened: Opened | undefined;

  constructor(private readonly module: Module) {}

  answer(question: Exclude<Question, { ask: "clang" }>): unknown {
    switch (question.ask) {
      case "open":
        this.opened?.free();
        this.opened = this.open(question.input);
        return JSON.parse(this.opened.what());
      case "kernels":
        return JSON.parse(this.file().kernels(question.holding, question.from, question.most));
      case "chips":
        return JSON.parse(this.module.chips());
      case "explain":
        return this.module.explain(question.rule);
      case "run":
      case "check": {
        const { document, text, notes, buffers } = this.file()[question.ask](JSON.stringify(question.how));
        return { document, text, notes, buffers };
      }
      case "diff": {
        const before = this.open(question.before);
        try {
          return plain(this.module.diff(before, this.file(), JSON.stringify(question.beforeHow), JSON.stringify(question.how)));
        } finally {
          before.free();
        }
      }
      default:
        return plain(this.file()[question.ask](JSON.stringify(question.how)));
    }
  }

  private file(): Opened {
    if (!this.opened) throw JSON.stringify({ kind: "usage", message: "no file is open" });
    return this.opened;
  }

  private open(input: Input): Opened {
    const opened = new this.module.Opened(input.name, input.bytes);
    if (input.bitcode) opened.give(input.bitcode, false);
    if (input.checked) opened.give(input.checked, true);
    return opened;
  }
}

function plain(answer: Answer & Freed): Answer {
  const { document, html, notes } = answer;
  answer.free();
  return { document, html, notes };
}

/** What was thrown, as a failure: the module throws JSON, anything else is a crash. */
export function failure(thrown: unknown): Failure {
  if (typeof thrown === "string") return JSON.parse(thrown) as Failure;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { kind: "crash", message };
}
