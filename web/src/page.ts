// The page: what is typed, chosen and dropped becomes questions; answers become panes.

import * as buffers from "./buffers";
import { Client, Failed } from "./client";
import { Code } from "./code";
import { Editor } from "./editor";
import { Library } from "./library";
import type { Answer, Ask, Chip, Failure, Input, Profile, Ran, What } from "./protocol";
import { ofFragment, type Shared, toFragment } from "./share";
import { Tabs } from "./tabs";

/** An example with its bitcode, made by the clang of whoever built the page. */
interface Example {
  name: string;
  file: string;
}

interface Site {
  clang: string;
  compiler: string | null;
  examples: Example[];
}

const of = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const client = new Client();
const tabs = new Tabs(of("tabs"), of("panes"), ["Report", "Code", "Chips", "Run", "Program", "Compare"], (tab) => void fill(tab));
const encoder = new TextEncoder();
const starting = performance.now();

let site: Site = { clang: "", compiler: null, examples: [] };
let input: Input | undefined;
let name = "kernel.metal";
/** What an example's text and bitcode are, once fetched. */
const fetched = new Map<string, Input>();
/** The question that the panes answer; an answer to an older one is dropped. */
let asked = 0;
/** Panes that hold the answer to the question as it is. */
let filled = new Set<string>();
let ready = false;
let hasCompiler = false;

const editor = new Editor(of("editor"), changed, (line) => light(line, false), () => void profile());
const code = new Code(tabs.pane("Code"), (line) => editor.light(line), (line) => editor.show(line));
tabs.pane("Code").classList.add("flush");
const library = new Library(of("listed"), client, (kernel) => {
  select(kernel);
  void profile();
});

function light(line: number, scrolls: boolean): void {
  code.light(line, scrolls || tabs.current === "Code");
}

function status(text: string, kind: "" | "bad" | "busy" = ""): void {
  const place = of("status");
  place.textContent = text;
  place.className = kind;
  of<HTMLButtonElement>("stop").disabled = kind !== "busy";
}

function words(failure: Failure): string {
  return failure.advice ? `${failure.message}\n${failure.advice}` : failure.message;
}

function ask(): Ask {
  const kernel = of<HTMLSelectElement>("kernel").value;
  return {
    ...(kernel ? { function: kernel } : {}),
    ...(of<HTMLSelectElement>("chip").value ? { chip: of<HTMLSelectElement>("chip").value } : {}),
    launch: of<HTMLInputElement>("launch").value.trim(),
  };
}

function select(kernel: string): void {
  const list = of<HTMLSelectElement>("kernel");
  if (![...list.options].some((option) => option.value === kernel)) list.add(new Option(kernel, kernel));
  list.value = kernel;
}

// Everything that asks goes through here: one thing at a time, told in the status line.
async function doing<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
  const mine = ++asked;
  status(`${what}…`, "busy");
  const began = performance.now();
  try {
    const result = await work();
    if (mine !== asked) return undefined;
    status(`${what}: ${Math.round(performance.now() - began)} ms`);
    return result;
  } catch (thrown) {
    if (mine !== asked) return undefined;
    const failure: Failure = thrown instanceof Failed ? thrown.failure : { kind: "crash", message: String(thrown) };
    const errors = failure.details?.errors ?? [];
    editor.errors(errors);
    status(words(failure).split("\n")[0] ?? "", "bad");
    const text = document.createElement("pre");
    text.className = "failure";
    text.textContent = words(failure);
    tabs.pane(tabs.current).replaceChildren(text);
    return undefined;
  }
}

let timer = 0;
function changed(): void {
  if (!ready) return;
  clearTimeout(timer);
  timer = window.setTimeout(() => void profile(), 600);
}

/** The source as an input: with the example's bitcode while it is unchanged. */
async function current(): Promise<Input> {
  if (library.input) return library.input;
  const text = editor.text;
  const known = fetched.get(name);
  if (known && new TextDecoder().decode(known.bytes) === text) return known;
  if (!hasCompiler) await loadCompiler();
  return { name, bytes: encoder.encode(text) };
}

async function loadCompiler(): Promise<void> {
  if (!site.compiler) {
    throw new Failed({ kind: "missing", message: "This page was built without a compiler: examples, .metallib files and archives can be opened." });
  }
  client.onprogress = (done, all) => status(`loading ${site.compiler}: ${(done / 1e6).toFixed(1)} of ${(all / 1e6).toFixed(1)} MB`, "busy");
  await client.loadCompiler();
  hasCompiler = true;
  of("compiler").textContent = compilerNote();
}

function compilerNote(): string {
  const own = hasCompiler ? `What is typed is compiled here by ${site.compiler}. ` : "";
  return `Examples were compiled by ${site.clang}. ${own}`;
}

/** Opens what is in the editor or was dropped, if it is not open already. */
async function opened(): Promise<void> {
  const wanted = await current();
  if (wanted === input || (input && input.name === wanted.name && same(input.bytes, wanted.bytes))) return;
  const what = await client.ask<What>({ ask: "open", input: wanted });
  input = wanted;
  if (library.input) return;
  const { names } = await client.ask<{ names: string[] }>({ ask: "kernels", holding: "", from: 0, most: 64 });
  const list = of<HTMLSelectElement>("kernel");
  const before = list.value;
  list.replaceChildren(...(what.kernels > 1 ? [new Option("all", "")] : []), ...names.map((one) => new Option(one, one)));
  if (names.includes(before)) list.value = before;
}

function same(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

async function profile(): Promise<void> {
  clearTimeout(timer);
  const answer = await doing("profile", async () => {
    input = library.input === input ? input : undefined;
    await opened();
    return client.ask<Answer>({ ask: "profile", how: ask() });
  });
  if (!answer) return;
  editor.errors([]);
  filled = new Set(["Report", "Code"]);
  const pane = tabs.pane("Report");
  pane.innerHTML = answer.html;
  note(pane, answer.notes);
  const found = (JSON.parse(answer.document) as { profiles: Profile[] }).profiles;
  const only = found.length === 1 ? found[0] : undefined;
  const heat = new Map<number, number>();
  if (only) {
    heatOf(only, heat);
    pages(pane, only);
    code.show(only, own, heat);
  } else {
    tabs.pane("Code").replaceChildren(`${found.length} kernels: choose one above to see its code.`);
  }
  editor.heat(heat);
  document.documentElement.dataset["answered"] = String(Math.round(performance.now() - starting));
  if (!filled.has(tabs.current)) await fill(tabs.current);
}

const own = (file: string): boolean => file === name;

/** Shares of lines: of the predicted time, or of the code's cycles where there is none. */
function heatOf(profile: Profile, heat: Map<number, number>): void {
  const add = (line: number, share: number) => heat.set(line, (heat.get(line) ?? 0) + share);
  if (profile.predicted) {
    const whole = profile.predicted.time_us || 1;
    for (const line of profile.predicted.lines) if (own(line.file)) add(line.line, line.us / whole);
    return;
  }
  const time = (line: Profile["lines"][number]) => Math.max(line.issue, line.complex, line.memory) + line.stall;
  const whole = profile.lines.reduce((sum, line) => sum + time(line), 0) || 1;
  for (const line of profile.lines) if (own(profile.main.files[line.file] ?? "")) add(line.line, time(line) / whole);
}

function note(pane: HTMLElement, text: string): void {
  for (const line of text.split("\n").filter(Boolean)) {
    const paragraph = document.createElement("p");
    paragraph.className = "dim";
    paragraph.textContent = line;
    pane.append(paragraph);
  }
}

/** The manual pages of findings, opened where they are asked for. */
function pages(pane: HTMLElement, profile: Profile): void {
  for (const rule of new Set(profile.findings.map((finding) => finding.rule))) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = `What ${rule} means`;
    const text = document.createElement("pre");
    details.append(summary, text);
    details.ontoggle = async () => {
      if (!text.textContent) text.textContent = await client.ask<string>({ ask: "explain", rule }).catch(String);
    };
    pane.append(details);
  }
}

/** Fills a pane that was opened with the answer of its own question. */
async function fill(tab: string): Promise<void> {
  if (filled.has(tab) || !ready || tab === "Report" || tab === "Code" || tab === "Run") return;
  const pane = tabs.pane(tab);
  if (tab === "Compare") {
    await compare(pane);
    return;
  }
  const question = tab === "Chips" ? ("predict" as const) : ("program" as const);
  const how = question === "predict" ? { ...ask(), chip: "all" } : ask();
  const answer = await doing(question, async () => {
    await opened();
    return client.ask<Answer>({ ask: question, how });
  });
  if (!answer) return;
  filled.add(tab);
  if (question === "predict") pane.innerHTML = answer.html;
  else {
    const text = document.createElement("pre");
    text.className = "wide";
    text.textContent = answer.html;
    pane.replaceChildren(text);
  }
  note(pane, answer.notes);
}

async function compare(pane: HTMLElement): Promise<void> {
  const label = document.createElement("label");
  label.textContent = "Before ";
  const list = document.createElement("select");
  list.add(new Option("choose a kernel to compare with", ""));
  for (const example of site.examples) list.add(new Option(example.name, example.name));
  label.append(list);
  const result = document.createElement("div");
  pane.replaceChildren(label, result);
  list.onchange = async () => {
    const answer = await doing("compare", async () => {
      await opened();
      const before = await example(list.value);
      const { chip } = ask();
      return client.ask<Answer>({ ask: "diff", before, how: ask(), beforeHow: { ...(chip ? { chip } : {}) } });
    });
    if (!answer) return;
    result.innerHTML = answer.html;
    note(result, answer.notes);
    figures(result, answer.document);
  };
}

interface Difference {
  figure: string;
  before: number | null;
  after: number | null;
  change: string;
}

function figures(place: HTMLElement, document_: string): void {
  const differences = (JSON.parse(document_) as { figures: Difference[] }).figures.filter((one) => one.change !== "same");
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const title of ["figure (modelled)", "before", "after", ""]) head.insertCell().textContent = title;
  for (const one of differences) {
    const row = table.insertRow();
    const shown = (value: number | null) => (value === null ? "–" : String(Math.round(value * 100) / 100));
    for (const text of [one.figure, shown(one.before), shown(one.after), one.change]) row.insertCell().textContent = text;
  }
  place.append(table);
}

async function run(question: "run" | "check"): Promise<void> {
  tabs.choose("Run");
  const pane = tabs.pane("Run");
  const ran = await doing(question, async () => {
    await opened();
    return client.ask<Ran>({ ask: question, how: ask() });
  });
  if (!ran) return;
  const text = document.createElement("pre");
  text.textContent = ran.text;
  pane.replaceChildren(text);
  note(pane, ran.notes);
  interface Found {
    grid: number[];
    checked?: { place: string | null; message: string; severity: string }[];
    warnings?: { line: number | null; message: string; file: null; column: null }[];
  }
  const found = JSON.parse(ran.document) as Found;
  const faults = (found.checked ?? []).map((one) => ({
    message: one.message,
    file: null,
    line: Number(/:(\d+)(?::\d+)?$/.exec(one.place ?? "")?.[1] ?? 0),
    column: null,
  }));
  editor.errors([...faults, ...(found.warnings ?? [])], "warning");
  buffers.show(pane, ran.buffers, found.grid);
}

async function bytes(path: string): Promise<Uint8Array> {
  const answer = await fetch(new URL(path, document.baseURI));
  if (!answer.ok) throw new Failed({ kind: "missing", message: `${path}: ${answer.status}` });
  return new Uint8Array(await answer.arrayBuffer());
}

async function example(wanted: string): Promise<Input> {
  const known = fetched.get(wanted);
  if (known) return known;
  const [text, bitcode, checked] = await Promise.all([
    bytes(`examples/${wanted}`),
    bytes(`examples/${wanted.replace(/metal$/, "bc")}`),
    bytes(`examples/${wanted.replace(/metal$/, "checked.bc")}`),
  ]);
  const found = { name: wanted, bytes: text, bitcode, checked };
  fetched.set(wanted, found);
  return found;
}

async function chooseExample(wanted: string): Promise<void> {
  const found = await example(wanted);
  leave();
  ready = false;
  name = wanted;
  editor.text = new TextDecoder().decode(found.bytes);
  ready = true;
  of<HTMLInputElement>("launch").value = "";
  of<HTMLSelectElement>("kernel").replaceChildren();
  await profile();
}

/** Back to the editor. */
function leave(): void {
  library.close();
  of("editor").hidden = false;
  input = undefined;
}

async function dropped(file: File): Promise<void> {
  const content = new Uint8Array(await file.arrayBuffer());
  if (/\.metal$/.test(file.name)) {
    leave();
    name = file.name;
    editor.text = new TextDecoder().decode(content);
    return;
  }
  of("editor").hidden = true;
  of<HTMLSelectElement>("kernel").replaceChildren();
  of<HTMLInputElement>("launch").value = "";
  filled = new Set();
  tabs.choose("Report");
  input = { name: file.name, bytes: content };
  name = file.name;
  await doing(`open ${file.name}`, () => library.open(input as Input));
}

async function share(): Promise<void> {
  const how = ask();
  const shared: Shared = {
    name,
    source: editor.text,
    chip: how.chip ?? "",
    launch: how.launch ?? "",
    ...(how.function ? { kernel: how.function } : {}),
    tab: tabs.current,
  };
  history.replaceState(null, "", await toFragment(shared));
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  status(copied ? "The link is in the clipboard." : "The link is in the address bar.");
}

async function follow(shared: Shared): Promise<void> {
  ready = false;
  leave();
  name = shared.name;
  // An example that was shared unchanged needs no compiler.
  if (site.examples.some((one) => one.name === name)) await example(name);
  editor.text = shared.source;
  if (shared.chip) of<HTMLSelectElement>("chip").value = shared.chip;
  of<HTMLInputElement>("launch").value = shared.launch;
  if (shared.kernel) select(shared.kernel);
  ready = true;
  if (shared.tab) tabs.choose(shared.tab);
  await profile();
}

async function start(): Promise<void> {
  document.body.classList.toggle("embed", new URLSearchParams(location.search).has("embed"));
  const [found, chips] = await Promise.all([
    fetch(new URL("site.json", document.baseURI)).then((answer) => answer.json() as Promise<Site>),
    client.ask<Chip[]>({ ask: "chips" }),
  ]);
  site = found;
  of("compiler").textContent = compilerNote();
  const examples = of<HTMLSelectElement>("examples");
  examples.replaceChildren(...site.examples.map((one) => new Option(one.name.replace(".metal", ""), one.name)));
  const chip = of<HTMLSelectElement>("chip");
  chip.replaceChildren(...chips.filter((one) => one.costs).map((one) => new Option(one.title, one.name)));
  chip.value = chips.find((one) => one.default)?.name ?? "";
  examples.onchange = () => void chooseExample(examples.value);
  chip.onchange = () => void profile();
  of("kernel").onchange = () => void profile();
  of("launch").onkeydown = (event) => event.key === "Enter" && void profile();
  of("profile").onclick = () => (tabs.choose("Report"), void profile());
  of("run").onclick = () => void run("run");
  of("check").onclick = () => void run("check");
  of("stop").onclick = () => client.stop();
  of("share").onclick = () => void share();
  of("open").onclick = () => of("file").click();
  of<HTMLInputElement>("file").onchange = (event) => {
    const file = (event.target as HTMLInputElement).files?.[0];
    if (file) void dropped(file);
  };
  document.ondragover = (event) => (event.preventDefault(), document.body.classList.add("over"));
  document.ondragleave = () => document.body.classList.remove("over");
  document.ondrop = (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    const file = event.dataTransfer?.files[0];
    if (file) void dropped(file);
  };
  window.onhashchange = () => void ofFragment(location.hash).then((shared) => shared && follow(shared));
  const shared = await ofFragment(location.hash).catch(() => undefined);
  if (shared) {
    await follow(shared);
  } else {
    const asked = location.hash.slice(1);
    const first = site.examples.find((one) => one.name === `${asked}.metal`) ?? site.examples.find((one) => one.name === "matmul_tiled.metal");
    const chosen = first ?? site.examples[0];
    if (chosen) {
      examples.value = chosen.name;
      await chooseExample(chosen.name);
    }
  }
  await navigator.serviceWorker?.register(new URL("service.js", document.baseURI)).catch(() => undefined);
}

void start().catch((thrown) => status(String(thrown instanceof Error ? thrown.message : thrown), "bad"));
