// Draws docs/images/gate.png: what a pull request that makes a kernel slower, wrong and racy gets from `assay gate`, as the job's
// summary on GitHub shows it. The figures are those of a real run.
//
//     node editors/gate_picture.mjs MODULES ASSAY docs/images/gate.png
//
// MODULES is a folder with node_modules of playwright-core and marked. CHROMIUM names the browser.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [modules, assay, picture] = process.argv.slice(2).map((path) => resolve(path));
const require = createRequire(join(modules, "package.json"));
const { chromium } = require("playwright-core");
const { marked } = require("marked");
const kernels = resolve(dirname(fileURLToPath(import.meta.url)), "../examples/kernels");
const place = mkdtempSync(join(tmpdir(), "assay-gate-"));
const git = (...words) =>
  execFileSync("git", ["-c", "user.name=Gate", "-c", "user.email=gate@example.com", "-c", "init.defaultBranch=main", ...words], { cwd: place });
const small = (text) => text.replace(/--size (\w)=\d+/g, "--size $1=64");
const source = (name) => small(readFileSync(join(kernels, `${name}.metal`), "utf8"));
const write = (name, text) => writeFileSync(join(place, "kernels", `${name}.metal`), text);

try {
  mkdirSync(join(place, "kernels"));
  writeFileSync(join(place, "assay.toml"), '[[kernels]]\nfiles = ["kernels/*.metal"]\n');
  const tiled = source("matmul_tiled");
  const naive = source("matmul_naive");
  const racy = tiled.replaceAll("matmul_tiled", "matmul_staged");
  write("matmul_tiled", tiled);
  write("matmul_naive", naive);
  write("matmul_staged", racy);
  git("init", "-q");
  git("add", "-A");
  git("commit", "-q", "-m", "Kernels");
  git("checkout", "-q", "-b", "faster");
  write("matmul_tiled", tiled.replace(/acc = fma\(.*/, "acc = fma(A[row * K + t + k], B[(t + k) * N + col], acc);"));
  write("matmul_naive", naive.replace("C[row * N + col] = acc;", "C[row * N + col] = acc + 1;"));
  write("matmul_staged", racy.split("\n").filter((_, line) => line !== 24).join("\n"));
  git("commit", "-q", "-a", "-m", "Faster, one hopes");
  const options = { cwd: place, encoding: "utf8", env: { ...process.env, ASSAY_CACHE: join(place, ".cache") } };
  const run = spawnSync(assay, ["gate", "--against", "main", "--format", "markdown"], options);
  if (run.status !== 1) throw new Error(`the gate passed, or did not run: ${run.stderr}`);
  const style = `body { font: 14px/1.5 system-ui, sans-serif; color: #1f2328; width: 1000px; margin: 0; padding: 20px 28px; }
    h1, h2, h3 { border-bottom: 1px solid #d1d9e0; padding-bottom: .3em; } h2 { font-size: 20px; margin: 0 0 12px; } h3 { font-size: 16px; }
    table { border-collapse: collapse; margin: 0 0 14px; } th, td { border: 1px solid #d1d9e0; padding: 5px 11px; }
    table { font-size: 13px; } tr:nth-child(2n) td { background: #f6f8fa; } code { background: #eff1f3; border-radius: 4px; padding: 2px 5px; font-size: 12px; }`;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: 1056, height: 400 } });
  await page.setContent(`<style>${style}</style>${marked.parse(run.stdout)}`);
  await page.screenshot({ path: picture, fullPage: true });
  await browser.close();
} finally {
  rmSync(place, { recursive: true, force: true });
}
