// What the page and the worker say to each other. Documents are those of `assay … --format json`; only the fields that the page
// reads are named here.

/** What every question can say; the module fills in the program's defaults. */
export interface Ask {
  function?: string;
  chip?: string;
  launch?: string;
  max_steps?: number;
}

/** A file of the page: source with bitcode that was made before, or dropped bytes. */
export interface Input {
  name: string;
  bytes: Uint8Array;
  bitcode?: Uint8Array;
  checked?: Uint8Array;
}

export type Question =
  | { ask: "open"; input: Input }
  | { ask: "kernels"; holding: string; from: number; most: number }
  | { ask: "profile" | "predict" | "program" | "run" | "check"; how: Ask }
  | { ask: "diff"; before: Input; how: Ask; beforeHow: Ask }
  | { ask: "chips" }
  | { ask: "explain"; rule: string }
  | { ask: "clang" };

export interface What {
  kind: "source" | "library" | "code";
  kernels: number;
}

export interface Names {
  all: number;
  names: string[];
}

export interface Answer {
  document: string;
  html: string;
  notes: string;
}

export interface Buffer {
  index: number;
  name: string;
  type: string;
  bytes: Uint8Array;
}

export interface Ran {
  document: string;
  text: string;
  notes: string;
  buffers: Buffer[];
}

export interface Chip {
  name: string;
  title: string;
  costs: boolean;
  default: boolean;
}

/** A compile error at its line. */
export interface Entry {
  message: string;
  file: string | null;
  line: number | null;
  column: number | null;
}

export interface Failure {
  kind: "usage" | "input" | "missing" | "verdict" | "crash";
  message: string;
  advice?: string | null;
  details?: { errors?: Entry[] } | null;
}

export type Reply = { id: number; answer: unknown } | { id: number; failure: Failure } | { progress: number; of: number };

export interface LineTime {
  file: string;
  line: number;
  us: number;
}

export interface Row {
  offset: number;
  text: string;
  file: number | null;
  line: number | null;
  loop_depth: number;
  cycles: number | null;
  stall: number | null;
  pressure: number;
}

export interface Profile {
  name: string;
  predicted?: { time_us: number; lines: LineTime[] };
  findings: { rule: string }[];
  main: { files: string[] };
  lines: { file: number; line: number; issue: number; complex: number; memory: number; stall: number }[];
  listing: Row[];
}
