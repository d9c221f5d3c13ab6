// The service worker: after the first visit the page works without a network. A file is kept as long as this version of the page is
// the current one; the compiler is kept when it has been used.

declare const VERSION: string;
declare const FILES: string[];
declare const self: ServiceWorkerGlobalScope;

const KEPT = `assay-${VERSION}`;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches.open(KEPT).then(async (cache) => {
      await cache.addAll(FILES);
      await self.skipWaiting();
    }),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      // Other pages of the same host have caches of their own.
      const old = (await caches.keys()).filter((name) => name.startsWith("assay-") && name !== KEPT);
      await Promise.all(old.map((name) => caches.delete(name)));
      await self.clients.claim();
    })(),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  event.respondWith(
    (async () => {
      const cache = await caches.open(KEPT);
      const known = await cache.match(request, { ignoreSearch: true });
      if (known) return known;
      const answer = await fetch(request);
      if (answer.ok) await cache.put(request, answer.clone());
      return answer;
    })(),
  );
});

export {};
