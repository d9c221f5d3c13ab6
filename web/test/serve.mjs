// A folder over HTTP on the loopback interface, below a path, as a host of static files serves it.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

export async function serve(folder, base = "/some/where/") {
  const requests = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    requests.push(path);
    const inside = path.startsWith(base) ? normalize(path.slice(base.length) || "index.html") : "..";
    try {
      if (inside.startsWith("..")) throw new Error("outside");
      const body = readFileSync(join(folder, inside));
      response.writeHead(200, { "content-type": TYPES[extname(inside)] ?? "application/octet-stream", "cache-control": "no-cache" });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((listening) => server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", listening));
  return { address: `http://127.0.0.1:${server.address().port}${base}`, requests, close: () => new Promise((closed) => server.close(closed)) };
}
