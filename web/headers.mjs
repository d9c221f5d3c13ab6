// Makes the compiler's part of the page: `node headers.mjs MODULE OUT`. The precompiled headers of our metal_stdlib take the compiler
// some ten seconds, so that they are made here, by the same module and the same compiler that the page has.

import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [module, out] = process.argv.slice(2, 4).map((path) => resolve(path));
const from = join(here, "node_modules/@yowasp/clang");
const { version } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const gen = join(from, "gen");
cpSync(join(gen, "bundle.js"), join(out, "bundle.js"));
for (const name of readdirSync(gen)) if (name.endsWith(".wasm")) cpSync(join(gen, name), join(out, name));
// Headers and libraries for programs of WebAssembly, which no kernel includes: an empty archive stands for them.
writeFileSync(join(out, "llvm-resources.tar"), Buffer.alloc(1024));

const caller = join(out, "caller.mjs");
await build({ entryPoints: [join(here, "src/clang.ts")], outfile: caller, bundle: true, format: "esm", target: "node20", platform: "node" });
const { call } = await import(pathToFileURL(caller));
rmSync(caller);
const bundle = await import(pathToFileURL(join(out, "bundle.js")));
const engine = await import(pathToFileURL(join(module, "engine.js")));
engine.initSync({ module: readFileSync(join(module, "engine_bg.wasm")) });
globalThis.assayClang = await call(bundle, () => {});
engine.clang_loaded(version);

const text = "#include <metal_stdlib>\nkernel void k(device float *x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }\n";
for (const fast_math of [true, false]) {
  const opened = new engine.Opened("k.metal", new TextEncoder().encode(text));
  opened.profile(JSON.stringify({ fast_math, launch: "--grid 64 --threadgroup 64 --arg x=random:64" }));
  opened.free();
}
const headers = engine.clang_headers().map(([name, bytes], index) => {
  const file = `metal-${index}.pch`;
  writeFileSync(join(out, file), bytes);
  return { name, file: `clang/${file}` };
});
const bytes = readdirSync(out).reduce((sum, name) => sum + (/\.(wasm|tar)$/.test(name) ? statSync(join(out, name)).size : 0), 0);
writeFileSync(join(out, "made.json"), JSON.stringify({ version, bytes, headers }));
console.log(`clang: ${version}, ${(bytes / 1e6).toFixed(1)} MB, ${headers.length} precompiled headers`);
process.exit(0);
