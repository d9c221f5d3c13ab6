// Puts the page together: `node build.mjs MODULE EXAMPLES OUT [CLANG]`.
//
// MODULE is the folder that wasm-bindgen wrote, EXAMPLES has each example with its bitcode and `clang.txt`, OUT becomes the page, and
// CLANG is what headers.mjs made; without it the page has no compiler.

import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [module, examples, out, clang] = process.argv.slice(2).map((path) => resolve(path));
const read = (path) => readFileSync(path, "utf8");

// An older page makes room; a folder of anything else does not.
if (existsSync(out) && readdirSync(out).length && !existsSync(join(out, "site.json"))) {
  console.error(`web: ${out} is a folder with other files; name a new one, or an empty one`);
  process.exit(2);
}
rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, "examples"), { recursive: true });

const common = { bundle: true, format: "esm", target: "es2022", minify: true, outdir: out, absWorkingDir: here };
await build({ ...common, entryPoints: ["src/page.ts", "src/worker.ts"] });

cpSync(join(module, "engine.js"), join(out, "engine.js"));
cpSync(join(module, "engine_bg.wasm"), join(out, "engine_bg.wasm"));
cpSync(join(here, "index.html"), join(out, "index.html"));
const engine = await import(pathToFileURL(join(module, "engine.js")));
engine.initSync({ module: readFileSync(join(module, "engine_bg.wasm")) });
writeFileSync(join(out, "page.css"), `${engine.style()}\n${read(join(here, "page.css"))}`);

const names = readdirSync(examples).filter((name) => name.endsWith(".metal")).sort();
for (const name of readdirSync(examples)) if (/\.(metal|bc)$/.test(name)) cpSync(join(examples, name), join(out, "examples", name));

let compiler = null;
if (clang) {
  const made = JSON.parse(read(join(clang, "made.json")));
  compiler = `clang as WebAssembly (@yowasp/clang ${made.version})`;
  cpSync(clang, join(out, "clang"), { recursive: true });
}
const site = { clang: read(join(examples, "clang.txt")).trim(), compiler, examples: names.map((name) => ({ name })) };
writeFileSync(join(out, "site.json"), JSON.stringify(site));

// What is kept for use without a network: everything but the compiler's large files, which are kept when
// they are used.
const files = [];
const walk = (folder) => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      walk(path);
    } else if (!/\.(pch|tar)$|core\d?\.wasm$/.test(entry.name)) files.push(relative(out, path).replaceAll("\\", "/"));
  }
};
walk(out);
files.sort();
const hash = createHash("sha256");
for (const file of files) hash.update(file).update(readFileSync(join(out, file)));
await build({
  ...common,
  format: "iife",
  entryPoints: ["src/service.ts"],
  define: { VERSION: JSON.stringify(hash.digest("hex").slice(0, 16)), FILES: JSON.stringify(["./", ...files]) },
});
