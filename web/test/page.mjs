// The page in a headless Chromium, as a person uses it: `node page.mjs SITE [PICTURES]`. CHROMIUM names the browser, METALLIB a large
// library that is dropped on the page (mlx.metallib of the package mlx-metal).

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const [site, pictures] = process.argv.slice(2).map((path) => resolve(path));
if (pictures) mkdirSync(pictures, { recursive: true });
const { address, requests, close } = await serve(site);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const foreign = [];
const errors = [];

async function open(url = address, in_ = context) {
  const page = await in_.newPage();
  page.setDefaultTimeout(120_000);
  page.on("request", (request) => request.url().startsWith(address) || request.url().startsWith("data:") || foreign.push(request.url()));
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(url);
  await answered(page);
  return page;
}

const answered = (page) => page.waitForFunction(() => document.documentElement.dataset.answered);
const tab = (page, name) => page.getByRole("tab", { name }).click();
const pane = (page, name) => page.locator(`#pane-${name.toLowerCase()}`);
const picture = async (page, name) => pictures && (await page.screenshot({ path: join(pictures, `${name}.png`) }));

/** Replaces the source and waits for what becomes of it. */
async function type(page, text) {
  await page.evaluate(() => delete document.documentElement.dataset.answered);
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

const figures = [];
async function step(name, work) {
  const began = performance.now();
  try {
    await work();
  } catch (error) {
    for (const page of context.pages()) await page.screenshot({ path: join(pictures ?? site, "..", "failed.png") });
    console.error(`page: ${name}: what was on the screen is failed.png beside the page`);
    throw error;
  }
  figures.push(`${name} ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

const RACE = `#include <metal_stdlib>
using namespace metal;
kernel void sum(device const float *x, device float *y, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float t[64];
    t[i] = x[i];
    y[i] = t[63 - i];
}
// assay: launch sum --grid 64 --threadgroup 64 --arg x=random:64 --arg y=zeros:64
`;
const ENDLESS = `#include <metal_stdlib>
using namespace metal;
kernel void spin(device atomic_uint *x, uint i [[thread_position_in_grid]]) {
    while (atomic_load_explicit(&x[i], memory_order_relaxed) == 0) {}
}
// assay: launch spin --grid 32 --threadgroup 32 --arg x=zeros:32
`;

let page;
try {
  await step("load", async () => {
    page = await open();
    const first = Number(await page.evaluate(() => document.documentElement.dataset.answered));
    figures.push(`first answer after ${first} ms`);
    assert.ok(first < 10_000, `the first answer came after ${first} ms`);
    const report = await pane(page, "Report").innerText();
    assert.match(report, /matmul_tiled on m2.* ms/);
    assert.match(report, /limited by\s+threadgroup memory/);
    await picture(page, "light");
  });
  await step("code", async () => {
    await tab(page, "Code");
    const row = pane(page, "Code").locator("tbody tr", { hasText: "fmadd32" }).first();
    await row.hover();
    assert.match(await page.locator(".cm-line.lit").innerText(), /acc = fma/);
    await page.locator(".cm-line", { hasText: "acc = fma" }).hover();
    assert.ok((await pane(page, "Code").locator("tr.lit").count()) > 10);
    await picture(page, "code");
  });
  await step("chips", async () => {
    await tab(page, "Chips");
    await pane(page, "Chips").getByText("m2-ultra").first().waitFor();
    await picture(page, "chips");
  });
  await step("run an example", async () => {
    await page.getByLabel("Example").selectOption("saxpy.metal");
    await page.waitForFunction(() => document.querySelector("#pane-report h1")?.textContent?.includes("saxpy"));
    await page.getByRole("button", { name: "Run" }).click();
    await pane(page, "Run").locator("canvas").first().waitFor();
    await picture(page, "run");
  });
  await step("stop", async () => {
    await page.getByLabel("Example").selectOption("matmul_naive.metal");
    await page.waitForFunction(() => document.querySelector("#pane-report h1")?.textContent?.includes("matmul_naive"));
    await page.getByLabel("Launch").fill("--size M=2048 --size N=2048 --size K=2048");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator("#status", { hasText: "was stopped" }).waitFor();
    await page.getByLabel("Launch").fill("");
    await page.getByRole("button", { name: "Profile" }).click();
    await page.locator("#status", { hasText: /^profile: \d/ }).waitFor();
  });
  await step("drop a library", async () => {
    const library = process.env.METALLIB ?? "";
    if (!existsSync(library)) {
      figures.push("no METALLIB: no library was dropped");
      return;
    }
    const began = performance.now();
    await page.locator("#file").setInputFiles(library);
    await page.locator("#count", { hasText: /17,248 kernels/ }).waitFor();
    figures.push(`${readFileSync(library).length >> 20} MiB listed after ${Math.round(performance.now() - began)} ms`);
    await page.getByLabel("Kernels").fill("rope_single_float32");
    await page.getByRole("button", { name: "rope_single_float32", exact: true }).click();
    await page.waitForFunction(() => document.querySelector("#pane-report h1")?.textContent?.includes("rope_single_float32"));
    await picture(page, "library");
  });
  const compiler = JSON.parse(readFileSync(join(site, "site.json"), "utf8")).compiler;
  if (compiler) {
    await step("compile error", async () => {
      await page.getByLabel("Example").selectOption("saxpy.metal");
      await page.waitForFunction(() => document.querySelector("#pane-report h1")?.textContent?.includes("saxpy"));
      await type(page, RACE.replace("t[i] = x[i];", "t[i] = z[i];"));
      await page.locator(".cm-lint-marker-error").first().waitFor();
      await page.locator("#status", { hasText: "1 error" }).waitFor();
      await tab(page, "Report");
      assert.match(await page.locator(".failure").first().innerText(), /:5:12: use of undeclared identifier 'z'/);
      await picture(page, "error");
    });
    await step("profile what was typed", async () => {
      await type(page, RACE);
      await answered(page);
      assert.match(await pane(page, "Report").innerText(), /sum on m2/);
    });
    await step("race", async () => {
      await page.getByRole("button", { name: "Check" }).click();
      await pane(page, "Run").getByText(/race/).first().waitFor();
      await page.locator(".cm-lint-marker-warning").first().waitFor();
      await picture(page, "race");
    });
    await step("share", async () => {
      await page.getByRole("button", { name: "Share link" }).click();
      await page.waitForFunction(() => location.hash.startsWith("#k="));
      const other = await open(page.url());
      assert.match(await other.locator(".cm-content").innerText(), /t\[63 - i\]/);
      await other.close();
    });
    await step("endless", async () => {
      await type(page, ENDLESS);
      await page.locator("#status", { hasText: /^(profile: \d|.*spin)/ }).waitFor();
      await page.getByRole("button", { name: "Run" }).click();
      await page.locator("#status.bad").waitFor();
      assert.match(await page.locator("#status").innerText(), /spin|took too long/);
      await page.getByLabel("Example").selectOption("relu.metal");
      await page.waitForFunction(() => document.querySelector("#pane-report h1")?.textContent?.includes("relu"));
    });
  }
  await step("offline", async () => {
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => null));
    await page.waitForFunction(async () => (await caches.keys()).some((name) => name.startsWith("assay-")));
    await page.goto("about:blank");
    await context.setOffline(true);
    const asked = requests.length;
    const other = await open();
    assert.match(await pane(other, "Report").innerText(), /matmul_tiled on m2/);
    assert.equal(requests.length, asked, "nothing was asked of the server");
    await other.close();
    await context.setOffline(false);
  });
  for (const [name, width, colorScheme, query] of [["narrow", 390, "light", ""], ["narrow-dark", 390, "dark", ""], ["dark", 1280, "dark", ""], ["embed", 640, "light", "?embed#softmax"]]) {
    await step(name, async () => {
      const own = await browser.newContext({ viewport: { width, height: 800 }, colorScheme });
      const small = await open(address + query, own);
      const wide = await small.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} px at ${width}`);
      await picture(small, name);
      await own.close();
    });
  }
  await step("keyboard", async () => {
    const keys = await open();
    await keys.getByRole("tab", { name: "Report" }).focus();
    await keys.keyboard.press("ArrowRight");
    assert.equal(await keys.evaluate(() => document.activeElement?.textContent), "Code");
    await keys.close();
  });
  assert.deepEqual(foreign, [], "requests to others");
  assert.deepEqual(errors.filter((text) => !/ERR_INTERNET_DISCONNECTED/.test(text)), [], "errors on the console");
  console.log(`page: ${figures.join(", ")}`);
} finally {
  await browser.close();
  await close();
}
