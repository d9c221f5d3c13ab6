// clang as WebAssembly: loaded when source is first compiled here, kept by the browser, called by the engine's module.

/** A file or folder of the compiler's small file system. */
interface Tree {
  [name: string]: Tree | Uint8Array | string;
}

interface Options {
  stdin: (length: number) => Uint8Array | null;
  stdout: (bytes: Uint8Array | null) => void;
  stderr: (bytes: Uint8Array | null) => void;
  decodeASCII: boolean;
  synchronously: true;
}

/** The package's own interface, as far as it is used. */
export interface Bundle {
  runLLVM(args: null, files: Tree, options: { fetchProgress: (event: { doneLength: number }) => void }): Promise<unknown>;
  runLLVM(args: string[], files: Tree, options: Partial<Options>): unknown;
}

export interface Called {
  success: boolean;
  stdout: Uint8Array;
  stderr: string;
}

export type Call = (args: string[], input: Uint8Array, files: [string, Uint8Array][]) => Called;

/** Fetches what the compiler is made of; afterwards it answers at once. */
export async function call(bundle: Bundle, progress: (done: number) => void): Promise<Call> {
  await bundle.runLLVM(null, {}, { fetchProgress: (event) => progress(event.doneLength) });
  return (args, input, files) => run(bundle, args, input, files);
}

function run(bundle: Bundle, args: string[], input: Uint8Array, files: [string, Uint8Array][]): Called {
  const out = new Collected();
  const err = new Collected();
  let at = 0;
  const options: Options = {
    stdin: (length) => {
      if (at >= input.length) return null;
      const part = input.subarray(at, at + length);
      at += part.length;
      return part;
    },
    stdout: (bytes) => out.add(bytes),
    stderr: (bytes) => err.add(bytes),
    decodeASCII: false,
    synchronously: true,
  };
  let success = true;
  try {
    bundle.runLLVM(proper(bundle, args), tree(files), options);
  } catch (thrown) {
    // An exit code is thrown; anything else is a crash, told as the compiler's last words.
    success = false;
    if (!(thrown as { code?: number }).code) err.add(new TextEncoder().encode(`error: clang crashed: ${String(thrown)}\n`));
  }
  return { success, stdout: out.whole(), stderr: new TextDecoder().decode(err.whole()) };
}

/** Command lines of the compiler proper, by those of its driver: asking the driver takes as long as compiling. */
const known = new Map<string, string[]>();

/** The compiler proper's command line, which the driver would run in a process of its own. */
function proper(bundle: Bundle, args: string[]): string[] {
  const key = args.join("\n");
  const before = known.get(key);
  if (before) return before;
  const said = new Collected();
  const add = (bytes: Uint8Array | null) => said.add(bytes);
  bundle.runLLVM(["clang", "-###", ...args], {}, { stdout: add, stderr: add, synchronously: true });
  const lines = new TextDecoder().decode(said.whole()).split("\n");
  const line = lines.find((one) => / "?-cc1"? /.test(one)) ?? "";
  const words = Array.from(line.matchAll(/ (?:"((?:[^"\\]|\\.)*)"|([^ "]+))/g), (word) => word[2] ?? (word[1] ?? "").replaceAll(/\\(.)/g, "$1"));
  const from = words.indexOf("-cc1");
  if (from < 0) throw new Error(lines.join("\n"));
  const found = ["clang", ...words.slice(from)];
  known.set(key, found);
  return found;
}

function tree(files: [string, Uint8Array][]): Tree {
  const root: Tree = {};
  for (const [path, content] of files) {
    const parts = path.split("/").filter(Boolean);
    let folder = root;
    for (const part of parts.slice(0, -1)) folder = (folder[part] ??= {}) as Tree;
    folder[parts.at(-1) ?? ""] = content;
  }
  return root;
}

class Collected {
  private parts: Uint8Array[] = [];
  private length = 0;

  add(bytes: Uint8Array | null): void {
    if (!bytes) return;
    this.parts.push(bytes.slice());
    this.length += bytes.length;
  }

  whole(): Uint8Array {
    const whole = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
}
