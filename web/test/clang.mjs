// The page's clang beside the clang that made the examples: for how many kernels both lead to the same optimised program.
//
//     node clang.mjs MODULE EXAMPLES CLANG

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const [module, examples, clang] = process.argv.slice(2, 5).map((path) => resolve(path));
const caller = join(clang, "../caller.mjs");
await build({ entryPoints: [new URL("../src/clang.ts", import.meta.url).pathname], outfile: caller, bundle: true, format: "esm", platform: "node" });
const { call } = await import(pathToFileURL(caller));
const engine = await import(pathToFileURL(join(module, "engine.js")));
engine.initSync({ module: readFileSync(join(module, "engine_bg.wasm")) });
const made = JSON.parse(readFileSync(join(clang, "made.json")));
globalThis.assayClang = await call(await import(pathToFileURL(join(clang, "bundle.js"))), () => {});
engine.clang_loaded(made.version);
for (const { name, file } of made.headers) engine.clang_keep(name, readFileSync(join(clang, "..", file)));

const names = readdirSync(examples).filter((name) => name.endsWith(".metal")).sort();
let [same, all] = [0, 0];
const times = [];
const others = [];
for (const name of names) {
  const text = readFileSync(join(examples, name));
  const native = new engine.Opened(name, text);
  native.give(readFileSync(join(examples, name.replace(/metal$/, "bc"))), false);
  const here = new engine.Opened(name, text);
  const began = performance.now();
  const kernels = JSON.parse(here.kernels("", 0, 99)).names;
  times.push(performance.now() - began);
  for (const kernel of kernels) {
    const of = (opened) => {
      const answer = opened.program(JSON.stringify({ function: kernel }));
      return answer.html;
    };
    all += 1;
    if (of(native) === of(here)) same += 1;
    else others.push(kernel);
  }
  native.free();
  here.free();
}
times.sort((a, b) => a - b);
const second = (ms) => (ms / 1000).toFixed(2);
console.log(
  `clang: ${same} of ${all} kernels give the same program; a compilation takes ${second(times[times.length >> 1])} s (most ${second(times.at(-1))} s), ` +
    `${Math.round(process.memoryUsage().rss / 1e6)} MB; others: ${others.join(", ")}`,
);
process.exit(0);
