// The module in node against the program: for every example the documents of profile and predict are equal, byte for byte.
//
//     node engine.mjs MODULE EXAMPLES ASSAY

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const [module, examples, assay] = process.argv.slice(2).map((path) => resolve(path));
const engine = await import(pathToFileURL(join(module, "engine.js")));
engine.initSync({ module: readFileSync(join(module, "engine_bg.wasm")) });

const names = readdirSync(examples).filter((name) => name.endsWith(".metal")).sort();
const program = (...args) => promisify(execFile)(assay, args, { cwd: examples, encoding: "utf8", maxBuffer: 1 << 26 }).then(({ stdout }) => stdout);
const open = (name) => {
  const opened = new engine.Opened(name, readFileSync(join(examples, name)));
  opened.give(readFileSync(join(examples, name.replace(/metal$/, "bc"))), false);
  opened.give(readFileSync(join(examples, name.replace(/metal$/, "checked.bc"))), true);
  return opened;
};
const timed = (times, work) => {
  const began = performance.now();
  const result = work();
  times.push(performance.now() - began);
  return result;
};
const median = (times) => times.sort((a, b) => a - b)[times.length >> 1].toFixed(0);

const here = { profile: [], predict: [], run: [], check: [] };
const differ = [];
// A tab has less memory than the program takes.
const tooLarge = [];
const racy = [];
for (const name of names) {
  const opened = open(name);
  const kernels = JSON.parse(opened.kernels("", 0, 99)).names;
  // The program works while the module does.
  const waiting = [];
  const same = (question, how, args) => {
    const theirs = program(question, name, "--format", "json", ...args);
    const ours = timed(here[question], () => opened[question](JSON.stringify(how)).document);
    waiting.push(theirs.then((text) => text.trim() === ours.trim() || differ.push(`${question} ${name} ${args.join(" ")}`)));
  };
  same("profile", {}, ["--cures=never"]);
  // Products of large matrices take a CPU long: they are run smaller.
  const large = /--size M=1024 --size N=1024 --size K=1024/.test(readFileSync(join(examples, name), "utf8"));
  const sizes = large ? ["--size", "M=128", "--size", "N=128", "--size", "K=128"] : [];
  for (const kernel of kernels) {
    same("predict", { function: kernel }, ["-f", kernel]);
    const how = JSON.stringify({ function: kernel, numbers: 64, launch: sizes.join(" ") });
    try {
      const ran = timed(here.run, () => JSON.parse(opened.run(how).document));
      const shown = ran.buffers.flatMap((buffer) => ["--print", `${buffer.index}:64`]);
      const native = JSON.parse(await program("run", name, "-f", kernel, "--format", "json", ...sizes, ...shown));
      delete ran.time;
      delete native.time;
      const { checked } = timed(here.check, () => JSON.parse(opened.check(how).document));
      // What a kernel with a race leaves depends on the order of its threads, which is the program's own affair.
      const races = checked.some((finding) => finding.kind === "race");
      if (JSON.stringify(ran) !== JSON.stringify(native)) (races ? racy : differ).push(`run ${kernel}`);
    } catch (thrown) {
      if (typeof thrown !== "string") throw thrown;
      tooLarge.push(`${kernel}: ${JSON.parse(thrown).message}`);
    }
  }
  await Promise.all(waiting);
  opened.free();
}
if (tooLarge.length) console.log(`engine: not run: ${tooLarge.join("; ")}`);
if (racy.length) console.log(`engine: differ for want of an order: ${racy.join("; ")}`);
assert.deepEqual(differ, [], "documents that differ from the program's");
const figures = Object.entries(here).map(([question, times]) => `${question} ${median(times)} ms`);
console.log(`engine: ${names.length} examples equal the program's; medians: ${figures.join(", ")}`);
