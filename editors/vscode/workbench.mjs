// The packaged extension in VS Code's own workbench and extension host: code-server, under a headless browser. A person's way is
// gone: install the package, open a folder, open a kernel, read its diagnostics and hints, run it with checks.
//
//     node workbench.mjs MODULES PACKAGE.vsix ASSAY [PICTURE.png]
//
// MODULES is a folder with node_modules of code-server and playwright-core. CHROMIUM names the browser.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [modules, extension, assay, picture] = process.argv.slice(2).map((path) => resolve(path));
const { chromium } = createRequire(join(modules, "package.json"))("playwright-core");
const kernels = resolve(dirname(fileURLToPath(import.meta.url)), "../../examples/kernels");
const place = mkdtempSync(join(tmpdir(), "assay-workbench-"));
const folder = join(place, "kernels");
mkdirSync(folder);
const kernel = join(folder, "matmul_naive.metal");
copyFileSync(join(kernels, "matmul_naive.metal"), kernel);
mkdirSync(join(place, "data/User"), { recursive: true });
const settings = {
  "assay.path": assay,
  "security.workspace.trust.enabled": false,
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "chat.commandCenter.enabled": false,
  "editor.minimap.enabled": false,
  "editor.hover.above": false,
  "editor.fontSize": 12,
  "telemetry.telemetryLevel": "off",
};
writeFileSync(join(place, "data/User/settings.json"), JSON.stringify(settings));

const server = [
  join(modules, "node_modules/code-server/out/node/entry.js"),
  ...["--config", join(place, "config.yaml"), "--user-data-dir", join(place, "data"), "--extensions-dir", join(place, "extensions")],
];
const environment = { ...process.env, HOME: place, XDG_CONFIG_HOME: place, XDG_DATA_HOME: place, NODE_NO_WARNINGS: "1" };
const options = { env: environment, stdio: ["ignore", "pipe", "pipe"] };
execFileSync(process.execPath, [...server, "--install-extension", extension], options);

const serving = spawn(
  process.execPath,
  [...server, "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"],
  options,
);
let browser;
try {
  const address = await new Promise((found, failed) => {
    let said = "";
    serving.stdout.on("data", (data) => {
      said += data;
      const match = /HTTP server listening on (http:\/\/\S+)/.exec(said);
      if (match) found(match[1]);
    });
    serving.on("exit", () => failed(new Error(`code-server ended: ${said}`)));
  });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: 1180, height: 760 } });
  const timeout = Number(process.env.WORKBENCH_TIMEOUT ?? 120_000);
  page.setDefaultTimeout(timeout);
  await page.goto(`${address}?folder=${folder}`);
  await page.getByRole("treeitem", { name: "matmul_naive.metal" }).dblclick();

  // The language is known, so the extension was activated by it.
  await page.getByRole("button", { name: "Metal Shading Language" }).waitFor();
  // What the server says, as the editor shows it.
  const editor = page.locator(".monaco-editor .view-lines").first();
  await page.locator(".squiggly-warning").first().waitFor({ state: "attached" });
  await page.waitForFunction(() => /registers/.test(document.querySelector(".monaco-editor .view-lines")?.textContent ?? ""));
  const shown = await editor.textContent();
  assert.match(shown, /registers.*occupancy|occupancy.*registers/, "the kernel's hint");

  // The finding is underlined; a hover on its line shows the message and the line's instructions. It is asked for by keys: lenses and
  // hints arrive one by one and move lines, so that a pointer may meet another.
  await page.keyboard.press("Control+B");
  await editor.click();
  const line = 1 + readFileSync(kernel, "utf8").split("\n").findIndex((text) => text.includes("acc +="));
  const hover = page.locator(".monaco-hover", { hasText: "device_load" }).first();
  for (const deadline = Date.now() + timeout; ; ) {
    await page.keyboard.press("Control+G");
    await page.locator(".quick-input-widget input").first().fill(`:${line}:16`);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Control+K");
    await page.keyboard.press("Control+I");
    if (await hover.waitFor({ timeout: 5_000 }).then(() => true, () => false)) break;
    const hovers = await page.locator(".monaco-hover:visible").allTextContents();
    assert.ok(Date.now() < deadline, `a hover on line ${line} shows its instructions; shown: ${JSON.stringify(hovers)}`);
    await page.keyboard.press("Escape");
  }
  if (picture) await page.screenshot({ path: picture });
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: /run with check/i }).first().click();
  const told = page.locator(".notification-list-item-message").first();
  await told.waitFor();
  const message = (await told.textContent()).trim();
  assert.match(message, /^matmul_naive: check found nothing/);
  console.log(`workbench: activated; diagnostics, hints and hover are shown; ${message}`);
} catch (error) {
  const shown = browser?.contexts()[0]?.pages()[0];
  await shown?.screenshot({ path: join(tmpdir(), "assay-workbench.png") });
  console.error(`workbench: what was on the screen is ${join(tmpdir(), "assay-workbench.png")}`);
  throw error;
} finally {
  await browser?.close();
  serving.kill();
  rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
