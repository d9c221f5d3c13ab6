// Links that hold what is on the page: JSON, deflated, in the fragment, which no browser sends to a server.

export interface Shared {
  name: string;
  source: string;
  chip: string;
  launch: string;
  kernel?: string;
  tab?: string;
}

/** Largest source that a link may unfold to. */
const LARGEST = 1 << 20;

async function through(bytes: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const reader = new Blob([bytes as BlobPart]).stream().pipeThrough(stream).getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > LARGEST) throw new Error("the link holds too much");
    parts.push(value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export async function toFragment(shared: Shared): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(shared));
  const small = await through(bytes, new CompressionStream("deflate-raw"));
  const text = btoa(Array.from(small, (byte) => String.fromCharCode(byte)).join(""));
  return `#k=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

export async function ofFragment(fragment: string): Promise<Shared | undefined> {
  if (!fragment.startsWith("#k=")) return undefined;
  const text = atob(fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
  const small = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const bytes = await through(small, new DecompressionStream("deflate-raw"));
  const found = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Record<keyof Shared, unknown>>;
  const word = (value: unknown, otherwise: string) => (typeof value === "string" ? value : otherwise);
  return {
    name: word(found.name, "kernel.metal"),
    source: word(found.source, ""),
    chip: word(found.chip, ""),
    launch: word(found.launch, ""),
    kernel: typeof found.kernel === "string" ? found.kernel : undefined,
    tab: typeof found.tab === "string" ? found.tab : undefined,
  };
}
