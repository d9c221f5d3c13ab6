// Puts the page together: `node build.mjs MODULE EXAMPLES OUT [--no-clang]`.
//
// MODULE is the folder that wasm-bindgen wrote, EXAMPLES has each example with its bitcode and `clang.txt`, OUT becomes the page.

import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [module, examples, out] = process.argv.slice(2, 5).map((path) => resolve(path));
const withClang = !process.argv.includes("--no-clang");
const read = (path) => readFileSync(path, "utf8");

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, "examples"), { recursive: true });

const common = { bundle: true, format: "esm", target: "es2022", minify: true, outdir: out, absWorkingDir: here };
await build({ ...common, entryPoints: ["src/page.ts", "src/worker.ts"], external: ["*/clang/bundle.js"] });

cpSync(join(module, "engine.js"), join(out, "engine.js"));
cpSync(join(module, "engine_bg.wasm"), join(out, "engine_bg.wasm"));
cpSync(join(here, "index.html"), join(out, "index.html"));
const report = join(here, "../crates/report/src");
writeFileSync(join(out, "page.css"), ["page.css", "blocks/blocks.css"].map((name) => read(join(report, name))).join("\n") + read(join(here, "page.css")));

const names = readdirSync(examples).filter((name) => name.endsWith(".metal")).sort();
for (const name of readdirSync(examples)) if (/\.(metal|bc)$/.test(name)) cpSync(join(examples, name), join(out, "examples", name));

let compiler = null;
if (withClang) {
  const from = join(here, "node_modules/@yowasp/clang");
  const { version } = JSON.parse(read(join(from, "package.json")));
  compiler = `@yowasp/clang ${version}`;
  mkdirSync(join(out, "clang"));
  cpSync(join(from, "gen/bundle.js"), join(out, "clang/bundle.js"));
  for (const name of readdirSync(join(from, "gen"))) if (name.endsWith(".wasm")) cpSync(join(from, "gen", name), join(out, "clang", name));
  // Headers and libraries for programs of WebAssembly, which no kernel includes: an empty archive stands for them.
  writeFileSync(join(out, "clang/llvm-resources.tar"), Buffer.alloc(1024));
}
const site = { clang: read(join(examples, "clang.txt")).trim(), compiler, examples: names.map((name) => ({ name })) };
writeFileSync(join(out, "site.json"), JSON.stringify(site));

// What is kept for use without a network: everything but the compiler, which is kept when it is used.
const files = [];
const walk = (folder) => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== "clang") walk(path);
    } else files.push(relative(out, path).replaceAll("\\", "/"));
  }
};
walk(out);
files.sort();
const hash = createHash("sha256");
for (const file of files) hash.update(file).update(readFileSync(join(out, file)));
if (existsSync(join(out, "clang"))) hash.update(compiler);
await build({
  ...common,
  format: "iife",
  entryPoints: ["src/service.ts"],
  define: { VERSION: JSON.stringify(hash.digest("hex").slice(0, 16)), FILES: JSON.stringify(["./", ...files]) },
});
