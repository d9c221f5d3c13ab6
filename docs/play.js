// Kernels of the guide, live: where the page that runs everything in the browser is published with the guide (`make web`), a link to
// one of its kernels gets a button that opens it below the paragraph. Elsewhere nothing happens.

(async () => {
  const root = typeof path_to_root === "string" ? path_to_root : "";
  const play = new URL(`${root}play/`, location.href);
  const links = [...document.querySelectorAll('main a[href$=".metal"]')];
  if (links.length === 0) return;
  const answer = await fetch(new URL("site.json", play)).catch(() => undefined);
  if (!answer?.ok) return;
  const known = new Set((await answer.json()).examples.map((example) => example.name));
  for (const link of links) {
    const name = link.href.split("/").pop();
    if (!known.has(name)) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Try it here";
    button.onclick = () => {
      const frame = document.createElement("iframe");
      frame.src = new URL(`?embed#${name.replace(/\.metal$/, "")}`, play).href;
      frame.title = `${name} in the browser`;
      frame.style.cssText = "width: 100%; height: 46rem; border: 1px solid currentColor; border-radius: 4px";
      (link.closest("p, li") ?? link).after(frame);
      button.remove();
    };
    link.after(" ", button);
  }
})();
