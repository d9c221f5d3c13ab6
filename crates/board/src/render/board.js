"use strict";
const tables = [...document.querySelectorAll("table.sortable")];
for (const table of tables) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const order = (a, b) => {
        const [x, y] = [value(a), value(b)];
        // What is not known comes last, either way.
        if (x === "" || y === "") return (x === "") - (y === "");
        const numbers = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
        const by = numbers ? x - y : x.localeCompare(y);
        return descending ? -by : by;
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
      show();
    });
  });
}

// Long tables are folded until somebody wants to see all of them, or filters.
const FOLD = 25;
const folds = new Map();
for (const table of tables) {
  if (table.tBodies[0].rows.length <= FOLD + 5) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "unfold";
  button.addEventListener("click", () => {
    folds.get(table).open = !folds.get(table).open;
    show();
  });
  table.parentElement.after(button);
  folds.set(table, { button, open: false });
}

const filter = document.getElementById("filter");
const points = new Map();
for (const point of document.querySelectorAll("svg.chart .point[data-key]")) points.set(point.dataset.key, point);

function show() {
  const words = filter.value.toLowerCase().split(/\s+/).filter((word) => word);
  let all = 0;
  let found = 0;
  for (const table of tables) {
    const fold = folds.get(table);
    const folded = fold && !fold.open && words.length === 0;
    let here = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      const taken = words.every((word) => text.includes(word));
      all += 1;
      found += taken;
      here += taken;
      row.hidden = !taken || (folded && here > FOLD);
      const point = points.get(row.dataset.key);
      // A folded row is still on the chart.
      if (point) point.toggleAttribute("hidden", !taken);
    }
    table.parentElement.classList.toggle("none", here === 0);
    if (fold) {
      fold.button.hidden = words.length > 0;
      fold.button.textContent = fold.open ? `Show the first ${FOLD} rows` : `Show all ${table.tBodies[0].rows.length} rows`;
      fold.button.setAttribute("aria-expanded", String(fold.open));
    }
  }
  document.getElementById("found").textContent = words.length ? `${found} of ${all} rows` : "";
}

if (filter) {
  filter.parentElement.hidden = false;
  filter.addEventListener("input", show);
  show();
}

// A row and its point belong together.
for (const table of tables) {
  for (const [event, on] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
    table.tBodies[0].addEventListener(event, (about) => {
      const row = about.target.closest("tr");
      const point = row && points.get(row.dataset.key);
      if (point) point.classList.toggle("pointed", on);
    });
  }
}

// A link to a source opens it.
function open() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") {
    target.open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus({ preventScroll: true });
  }
}
addEventListener("hashchange", open);
addEventListener("beforeprint", () => folds.forEach((fold) => { fold.open = true; }) || show());
open();
