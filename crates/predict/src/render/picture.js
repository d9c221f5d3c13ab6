"use strict";
// The simulated core: a row per place for a simdgroup on a canvas, cycles from left to right. Threadgroups follow one another in
// the places that earlier ones leave.
(() => {
  const $ = (id) => document.getElementById(id);
  const pictures = JSON.parse($("core-data").textContent);
  const canvas = $("core"), context = canvas.getContext("2d"), tip = $("tip"), select = $("dispatch");
  const AXIS = 22;
  let data, rows, from = 0, to = 1, queued = false;

  // Stretches are stored as gap, length, activity; each row becomes arrays of ends.
  const unpack = ([threadgroup, scheduler, values]) => {
    const count = values.length / 3, start = new Float64Array(count), end = new Float64Array(count);
    const kind = new Uint8Array(count);
    for (let i = 0, at = 0; i < count; i++) {
      start[i] = at + values[3 * i];
      at = end[i] = start[i] + values[3 * i + 1];
      kind[i] = values[3 * i + 2];
    }
    const owner = new Uint32Array(count).fill(threadgroup), on = new Uint8Array(count).fill(scheduler);
    return { threadgroup, start, end, kind, owner, on };
  };
  const NO_PLACE = 7;
  // Rows of a threadgroup go where one of as many simdgroups has ended; their time without a place is not shown.
  const placed = (all) => {
    const groups = new Map();
    for (const row of all) {
      if (!groups.has(row.threadgroup)) groups.set(row.threadgroup, []);
      groups.get(row.threadgroup).push(row);
    }
    const first = (row) => (row.kind[0] === NO_PLACE ? 1 : 0);
    const begin = (rows) => Math.min(...rows.map((row) => row.start[first(row)] ?? 0));
    const finish = (rows) => Math.max(...rows.map((row) => row.end[row.end.length - 1] ?? 0));
    const places = [];
    for (const group of [...groups.values()].sort((a, b) => begin(a) - begin(b))) {
      const from = begin(group);
      const free = places.filter((place) => place.end <= from + 0.5 && place.rows.length === group.length);
      let place = free.sort((a, b) => a.end - b.end)[0];
      if (!place) places.push(place = { number: places.length, end: 0, rows: group.map(() => []) });
      place.end = finish(group);
      group.forEach((row, i) => place.rows[i].push(row));
    }
    const joined = (rows, pick, Kind) => {
      const parts = rows.map((row) => pick(row).subarray(first(row)));
      const out = new Kind(parts.reduce((sum, part) => sum + part.length, 0));
      parts.reduce((at, part) => { out.set(part, at); return at + part.length; }, 0);
      return out;
    };
    return places.flatMap((place) => place.rows.map((rows) => ({
      place: place.number,
      start: joined(rows, (row) => row.start, Float64Array), end: joined(rows, (row) => row.end, Float64Array),
      kind: joined(rows, (row) => row.kind, Uint8Array), owner: joined(rows, (row) => row.owner, Uint32Array),
      on: joined(rows, (row) => row.on, Uint8Array),
    })));
  };
  const firstAfter = (row, at) => {
    let low = 0, high = row.end.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row.end[middle] <= at) low = middle + 1; else high = middle;
    }
    return low;
  };

  const gutter = () => (canvas.clientWidth < 480 ? 46 : 92);
  const height = () => (rows.length > 400 ? 2 : rows.length > 120 ? 5 : rows.length > 40 ? 9 : 14);
  const scale = () => (canvas.clientWidth - gutter()) / (to - from);
  const number = (value) => Math.round(value).toLocaleString("en");

  function draw() {
    queued = false;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const colours = data.names.map((_, i) => colour("--a" + i));
    const dense = window.devicePixelRatio || 1, each = height(), left = gutter();
    const width = canvas.clientWidth, tall = AXIS + rows.length * each + 4;
    canvas.style.height = tall + "px";
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(tall * dense);
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.fillStyle = colour("--paper");
    context.fillRect(0, 0, width, tall);
    const k = scale();
    rows.forEach((row, index) => {
      const y = AXIS + index * each, bar = each > 4 ? each - 1 : each;
      // What is narrower than a pixel is gathered until a pixel is full; the longest part colours it.
      let pixel = -1, parts = null;
      const flush = () => {
        if (parts === null) return;
        let best = 0;
        for (let i = 1; i < parts.length; i++) if (parts[i] > parts[best]) best = i;
        context.fillStyle = colours[best];
        context.fillRect(left + pixel, y, 1, bar);
        parts = null;
      };
      for (let i = firstAfter(row, from); i < row.end.length && row.start[i] < to; i++) {
        const x0 = Math.max(0, (row.start[i] - from) * k), x1 = Math.min(width - left, (row.end[i] - from) * k);
        if (x1 - x0 < 1) {
          const at = Math.floor(x0);
          if (at !== pixel) { flush(); pixel = at; }
          parts = parts || new Float64Array(colours.length);
          parts[row.kind[i]] += x1 - x0;
          continue;
        }
        flush();
        context.fillStyle = colours[row.kind[i]];
        context.fillRect(left + x0, y, x1 - x0, bar);
      }
      flush();
      // Where one threadgroup follows another.
      context.fillStyle = colour("--ink");
      for (let i = Math.max(1, firstAfter(row, from)); i < row.end.length && row.start[i] < to; i++) {
        if (row.owner[i] !== row.owner[i - 1] && row.start[i] > from) context.fillRect(left + (row.start[i] - from) * k, y, 1, each);
      }
    });
    axis(left, width, tall, each, colour);
    $("range").textContent = `${number(from)} to ${number(to)} of ${number(data.cycles)} cycles, ` +
      `${((to - from) / data.perUs).toPrecision(3)} µs` + (data.leftOut ? `; ${data.leftOut} rows left out` : "");
  }

  function axis(left, width, tall, each, colour) {
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = colour("--dim");
    context.strokeStyle = colour("--line");
    const room = Math.max(2, Math.floor((width - left) / 90)), raw = (to - from) / room;
    const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || 10 * power;
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const x = left + (at - from) * scale();
      context.fillText(number(at), Math.min(x + 2, width - 46), AXIS / 2);
      context.beginPath(); context.moveTo(x, 0); context.lineTo(x, AXIS - 4); context.stroke();
    }
    let last = -1, lastY = -100;
    rows.forEach((row, index) => {
      if (row.place === last) return;
      last = row.place;
      const y = AXIS + index * each;
      if (each > 4 || y - lastY >= 40) {
        context.strokeStyle = colour("--line");
        context.beginPath(); context.moveTo(0, y - 0.5); context.lineTo(left, y - 0.5); context.stroke();
      }
      if (y - lastY < 13) return;
      lastY = y;
      context.fillText((left > 60 ? "place " : "") + row.place, 4, y + Math.max(each, 12) / 2);
    });
  }

  const redraw = () => { if (!queued) { queued = true; requestAnimationFrame(draw); } };
  function show(a, b) {
    const span = Math.min(Math.max(b - a, 20), data.cycles);
    from = Math.min(Math.max(a, 0), data.cycles - span);
    to = from + span;
    redraw();
  }
  const zoom = (factor, at = (from + to) / 2) => show(at - (at - from) * factor, at + (to - at) * factor);
  const cycleAt = (x) => from + (x - gutter()) / scale();
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY) && event.shiftKey) return;
    event.preventDefault();
    const [x] = place(event);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) show(from + event.deltaX / scale(), to + event.deltaX / scale());
    else zoom(Math.exp(event.deltaY * 0.002), cycleAt(x));
  }, { passive: false });

  const fingers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event.clientX);
  });
  const lift = (event) => fingers.delete(event.pointerId);
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) {
      const before = [...fingers.values()];
      fingers.set(event.pointerId, event.clientX);
      const after = [...fingers.values()];
      if (after.length === 1) {
        const moved = (before[0] - after[0]) / scale();
        show(from + moved, to + moved);
      } else {
        const spread = (list) => Math.max(Math.abs(list[0] - list[1]), 10);
        zoom(spread(before) / spread(after));
      }
      tip.style.display = "none";
      return;
    }
    const [x, y] = place(event);
    const row = rows[Math.floor((y - AXIS) / height())], at = cycleAt(x);
    const index = row && x >= gutter() ? firstAfter(row, at) : -1;
    if (index < 0 || index >= row.end.length || row.start[index] > at) { tip.style.display = "none"; return; }
    tip.textContent = `${data.names[row.kind[index]]}, ${number(row.end[index] - row.start[index])} cycles\n` +
      `from ${number(row.start[index])}\nthreadgroup ${row.owner[index]}, scheduler ${row.on[index]}`;
    tip.style.display = "block";
    tip.style.left = Math.min(x + 12, canvas.clientWidth - tip.offsetWidth - 4) + "px";
    tip.style.top = y + 14 + "px";
  });
  canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  canvas.addEventListener("keydown", (event) => {
    const step = (to - from) / 5;
    const keys = {
      "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), "0": () => show(0, data.cycles),
      ArrowLeft: () => show(from - step, to - step), ArrowRight: () => show(from + step, to + step),
      Home: () => show(0, to - from), End: () => show(data.cycles - (to - from), data.cycles),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  $("in").addEventListener("click", () => zoom(0.6));
  $("out").addEventListener("click", () => zoom(1 / 0.6));
  $("all").addEventListener("click", () => show(0, data.cycles));
  window.addEventListener("resize", redraw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  pictures.forEach((picture, index) => select.add(new Option(picture.title, String(index))));
  const open = (index) => {
    data = pictures[index];
    rows = placed(data.rows.map(unpack));
    from = 0;
    to = Math.max(data.cycles, 20);
    redraw();
  };
  select.addEventListener("change", () => open(Number(select.value)));
  open(0);
})();
