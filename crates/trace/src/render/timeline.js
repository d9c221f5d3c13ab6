"use strict";
// The timeline: lanes of intervals on a canvas, drawn from arrays sorted by start. Everything a
// pointer can do, keys can, too; what they select is said in words under the canvas.
(() => {
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const byId = (id) => document.getElementById(id);
  const stage = byId("stage"), canvas = byId("timeline"), tip = byId("tip"), said = byId("said");
  const search = byId("search"), found = byId("found"), align = byId("align");
  const context = canvas.getContext("2d");
  const LANE = 22, BAR = 16, AXIS = 24;
  const GAPS = data.colours.gaps, OTHER = data.colours.other, HUES = data.colours.target;
  const groups = data.groups.map((group) => ({ ...group, scale: 1 }));

  // Starts are differences in the file; intervals of a lane never overlap.
  const lanes = data.lanes.map((lane) => {
    const count = lane.start.length;
    const begin = new Float64Array(count), finish = new Float64Array(count);
    for (let i = 0, at = 0; i < count; i++) {
      at += lane.start[i];
      begin[i] = at;
      finish[i] = at + lane.length[i];
    }
    const group = groups[lane.group];
    return { name: lane.name, kind: lane.kind, group, begin, finish, start: begin, end: finish, label: lane.label, detail: lane.detail };
  });

  let total = 1, from = 0, to = 1, matches = null, matchList = [], matchAt = -1, wanted = false, cursor = null;
  const measure = () => { total = Math.max(1, ...groups.map((group) => group.length * group.scale)); };
  measure();
  to = total;

  // Shades of one hue tell labels apart; all are dark enough for white captions.
  const shade = ([hue, dark], i) => `hsl(${hue + (i % 3) * 7 - 7} 58% ${dark + ((i * 5) % 4) * 3}%)`;
  const colours = groups.map((_, g) => data.labels.map((_label, i) => shade(HUES[g % HUES.length], i)));
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

  const time = (ns) => {
    const a = Math.abs(ns);
    if (a >= 1e9) return (ns / 1e9).toFixed(3) + " s";
    if (a >= 1e6) return (ns / 1e6).toFixed(3) + " ms";
    if (a >= 1e3) return (ns / 1e3).toFixed(3) + " µs";
    return ns.toFixed(0) + " ns";
  };

  // A moment with as many digits as tell it from its neighbours.
  const stamp = (ns, step) => {
    const [unit, name] = ns >= 1e9 ? [1e9, " s"] : [1e6, " ms"];
    const digits = Math.min(Math.max(Math.ceil(Math.log10(unit / Math.max(step, 1))), 0), 9);
    return (ns / unit).toFixed(digits) + name;
  };

  // The first interval of a lane that ends after `at`.
  const firstAfter = (lane, at) => {
    let low = 0, high = lane.end.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lane.end[middle] <= at) low = middle + 1; else high = middle;
    }
    return low;
  };

  const size = () => ({ width: canvas.clientWidth, height: AXIS + lanes.length * LANE + 6 });
  const margin = () => (canvas.clientWidth < 640 ? 76 : 190);
  const scale = () => (size().width - margin()) / (to - from);
  const bySteps = () => groups.some((group) => group.scale !== 1);

  function draw() {
    wanted = false;
    const { width, height } = size();
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = height + "px";
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    axis(width, height);
    lanes.forEach((lane, index) => drawLane(lane, AXIS + index * LANE, width));
    if (cursor) outline(width);
  }

  function axis(width, height) {
    const unit = bySteps() ? groups[0].step : 1;
    const step = niceStep((to - from) / unit / Math.max((width - margin()) / 110, 1), bySteps() ? 0 : 1) * unit;
    const origin = groups.length === 1 ? groups[0].origin : 0;
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = ink("--dim");
    context.strokeStyle = ink("--line");
    context.beginPath();
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const x = margin() + (at - from) * scale();
      context.moveTo(x, AXIS - 6);
      context.lineTo(x, height);
      const text = bySteps() ? "step " + +(at / unit).toFixed(4) : stamp(at + origin, step);
      if (x + context.measureText(text).width < width) context.fillText(text, x + 3, 13);
    }
    context.stroke();
  }

  function niceStep(raw, least) {
    const power = Math.pow(10, Math.floor(Math.log10(Math.max(raw, least || 1e-6))));
    return [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw) || 10 * power;
  }

  function drawLane(lane, top, width) {
    const left = margin();
    context.fillStyle = ink("--ink");
    context.font = (lane.kind === "title" ? "600 " : "") + "12px system-ui, sans-serif";
    context.save();
    context.beginPath();
    context.rect(0, top, lane.kind === "title" ? width : left - 8, LANE);
    context.clip();
    context.fillText(lane.name, 6, top + 14);
    context.restore();
    const k = scale(), y = top + 2;
    let i = firstAfter(lane, from);
    while (i < lane.start.length && lane.start[i] < to) {
      const x = left + Math.max((lane.start[i] - from) * k, 0);
      const right = left + Math.min((lane.end[i] - from) * k, width);
      let hit = matches === null || lane.kind === "gap" || matches[lane.label[i]] === 1;
      let j = i + 1;
      if (right - x < 1) {
        // Everything on this pixel is drawn as one bar, as tall as the pixel is busy. The
        // next pixel's first interval is found by bisection, so a view costs its width.
        const pixelEnd = from + (Math.floor(x - left) + 1) / k;
        j = Math.max(firstAfter(lane, pixelEnd), i + 1);
        let busy = 0;
        const looked = Math.min(j, i + 64);
        for (let m = i; m < looked; m++) {
          busy += lane.end[m] - lane.start[m];
          if (matches !== null && matches[lane.label[m]] === 1) hit = true;
        }
        busy *= (j - i) / (looked - i);
        const share = Math.min(1, Math.max(busy * k, 0.15));
        context.globalAlpha = hit ? 1 : 0.15;
        context.fillStyle = colour(lane, i);
        context.fillRect(x, y + BAR * (1 - share), 1, BAR * share);
      } else {
        context.globalAlpha = hit ? 1 : 0.15;
        context.fillStyle = colour(lane, i);
        context.fillRect(x, y, right - x, BAR);
        if (right - x > 60 && lane.kind !== "gap") caption(data.labels[lane.label[i]], x, right, y);
      }
      i = j;
    }
    context.globalAlpha = 1;
  }

  function colour(lane, i) {
    if (lane.kind === "gap") return GAPS[lane.label[i]] || GAPS[GAPS.length - 1];
    if (lane.kind === "other") return OTHER;
    return colours[groups.indexOf(lane.group)][lane.label[i]];
  }

  function caption(text, x, right, y) {
    context.save();
    context.beginPath();
    context.rect(x, y, right - x - 2, BAR);
    context.clip();
    context.fillStyle = "#ffffff";
    context.fillText(text, x + 3, y + 12);
    context.restore();
  }

  function place({ lane, i }) {
    const left = margin(), k = scale();
    const x = left + (lane.start[i] - from) * k;
    return { x, right: Math.max(left + (lane.end[i] - from) * k, x + 2), y: AXIS + lanes.indexOf(lane) * LANE };
  }

  // The selected interval, framed.
  function outline(width) {
    const { x, right, y } = place(cursor);
    if (right < margin() || x > width) return;
    const left = Math.max(x, margin());
    context.lineWidth = 2;
    context.strokeStyle = ink("--ink");
    context.strokeRect(left - 2, y, Math.min(right, width) - left + 4, BAR + 4);
    context.lineWidth = 1;
  }

  function request() {
    if (!wanted) {
      wanted = true;
      requestAnimationFrame(draw);
    }
  }

  function show(a, b) {
    const shortest = Math.min(total, 200);
    const length = Math.min(Math.max(b - a, shortest), total);
    from = Math.min(Math.max(a, 0), total - length);
    to = from + length;
    hideTip();
    request();
  }

  function zoom(factor, x) {
    const centre = from + Math.max(x - margin(), 0) / scale();
    show(centre - (centre - from) * factor, centre + (to - centre) * factor);
  }

  const pan = (part) => show(from + (to - from) * part, to + (to - from) * part);
  const all = () => show(0, total);

  // Where keys zoom: the selected interval if it is in view, else the middle.
  function focusX() {
    if (cursor) {
      const { x, right } = place(cursor);
      if (right > margin() && x < size().width) return Math.max((x + right) / 2, margin());
    }
    return margin() + (size().width - margin()) / 2;
  }

  // What lies under a point of the canvas.
  function at(x, y, reach) {
    const lane = lanes[Math.floor((y - AXIS) / LANE)];
    if (!lane || x < margin()) return null;
    const k = scale(), moment = from + (x - margin()) / k;
    const i = firstAfter(lane, moment - reach / k);
    return i < lane.start.length && lane.start[i] <= moment + reach / k ? { lane, i } : null;
  }

  function describe({ lane, i }) {
    const length = lane.finish[i] - lane.begin[i];
    const whose = groups.length > 1 ? `${lane.group.name}, ` : "";
    const span = `${time(length)} from ${time(lane.begin[i] + lane.group.origin)}`;
    if (lane.kind === "gap") {
      const wait = lane.detail[i];
      const parts = wait < 0 ? "" : `\nwaiting for the host ${time(wait)}, launch ${time(length - wait)}`;
      return `gap: ${data.causes[lane.label[i]]}\n${whose}${span}${parts}`;
    }
    const latency = lane.detail[i];
    const commit = latency < 0 ? "" : `\ncommitted ${time(latency)} before`;
    return `${data.labels[lane.label[i]]}\n${whose}${lane.name}\n${span}${commit}`;
  }

  function hideTip() { tip.style.display = "none"; }

  function showTip(hit, x, y) {
    tip.textContent = describe(hit);
    tip.style.display = "block";
    tip.style.left = Math.max(Math.min(x + 14, stage.clientWidth - tip.offsetWidth - 4), 0) + "px";
    tip.style.top = y + 16 + "px";
  }

  // Selects an interval: frames it, brings it into view and says what it is.
  function select(lane, i) {
    cursor = { lane, i };
    const start = lane.start[i], end = lane.end[i], width = to - from;
    if (start < from || end > to) {
      const centre = (start + end) / 2, half = Math.max(width, (end - start) * 1.2) / 2;
      show(centre - half, centre + half);
    }
    said.textContent = `${describe(cursor).replaceAll("\n", ", ")} (${(i + 1).toLocaleString("en")} of ${plural(lane.start.length, "interval")} on ${lane.name})`;
    hideTip();
    request();
  }

  function step(direction) {
    if (!cursor) return enter();
    const i = cursor.i + direction;
    if (i >= 0 && i < cursor.lane.start.length) select(cursor.lane, i);
  }

  // To the nearest lane with intervals, at the same moment.
  function changeLane(direction) {
    if (!cursor) return enter();
    const moment = (cursor.lane.start[cursor.i] + cursor.lane.end[cursor.i]) / 2;
    for (let l = lanes.indexOf(cursor.lane) + direction; l >= 0 && l < lanes.length; l += direction) {
      const lane = lanes[l];
      if (lane.start.length > 0) return select(lane, Math.min(firstAfter(lane, moment), lane.start.length - 1));
    }
  }

  function enter() {
    const lane = lanes.find((candidate) => candidate.start.length > 0);
    if (lane) select(lane, Math.min(firstAfter(lane, from), lane.start.length - 1));
  }

  function closer() {
    if (!cursor) return enter();
    const { lane, i } = cursor, around = (lane.end[i] - lane.start[i]) * 8, centre = (lane.start[i] + lane.end[i]) / 2;
    show(centre - around / 2, centre + around / 2);
    select(lane, i);
  }

  function find(text) {
    const needle = text.trim().toLowerCase();
    matchList = [];
    matchAt = -1;
    if (needle === "") {
      matches = null;
      found.textContent = "";
      return request();
    }
    matches = new Uint8Array(data.labels.length);
    data.labels.forEach((label, i) => { if (label.toLowerCase().includes(needle)) matches[i] = 1; });
    let sum = 0;
    lanes.forEach((lane, l) => {
      if (lane.kind === "gap") return;
      for (let i = 0; i < lane.start.length; i++) {
        if (matches[lane.label[i]] === 1) {
          matchList.push([l, i]);
          sum += lane.finish[i] - lane.begin[i];
        }
      }
    });
    found.textContent = `${matchList.length.toLocaleString("en")} found, ${time(sum)}`;
    request();
  }

  function next(direction) {
    if (matchList.length === 0) return;
    matchAt = (matchAt + direction + matchList.length) % matchList.length;
    const [l, i] = matchList[matchAt];
    const lane = lanes[l], length = lane.end[i] - lane.start[i];
    const around = Math.max(length * 20, (to - from) / 50);
    const centre = (lane.start[i] + lane.end[i]) / 2;
    show(centre - around / 2, centre + around / 2);
    select(lane, i);
  }

  // Two runs can be laid over each other by time, or stretched until their steps coincide.
  function alignSteps(on) {
    const first = groups[0].step;
    groups.forEach((group) => { group.scale = on && group.step > 0 ? first / group.step : 1; });
    lanes.forEach((lane) => {
      const k = lane.group.scale;
      lane.start = k === 1 ? lane.begin : lane.begin.map((value) => value * k);
      lane.end = k === 1 ? lane.finish : lane.finish.map((value) => value * k);
    });
    align.setAttribute("aria-pressed", String(on));
    measure();
    all();
  }

  const local = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [x] = local(event);
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const shift = (event.deltaX || event.deltaY) / scale();
      show(from + shift, to + shift);
    } else {
      zoom(Math.exp(Math.sign(event.deltaY) * Math.min(Math.abs(event.deltaY), 200) / 400), x);
    }
  }, { passive: false });

  // One pointer drags, two pinch, a tap selects.
  const pointers = new Map();
  let drag = null, pinch = null;
  const spread = () => {
    const [a, b] = [...pointers.values()];
    return { distance: Math.max(Math.abs(a[0] - b[0]), 8), x: (a[0] + b[0]) / 2 };
  };
  canvas.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, local(event));
    drag = { x: local(event)[0], from, to, moved: false };
    pinch = pointers.size === 2 ? spread() : null;
    if (event.isTrusted) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = local(event);
    if (pointers.has(event.pointerId)) pointers.set(event.pointerId, [x, y]);
    if (pointers.size === 2 && pinch) {
      const now = spread();
      zoom(pinch.distance / now.distance, now.x);
      pinch = now;
      if (drag) drag.moved = true;
    } else if (drag && pointers.size === 1) {
      if (Math.abs(drag.x - x) > 3) drag.moved = true;
      const shift = (drag.x - x) / scale();
      if (drag.moved) show(drag.from + shift, drag.to + shift);
    } else {
      const hit = at(x, y, 1.5);
      if (hit) showTip(hit, x, y); else hideTip();
    }
  });
  const lift = (event) => {
    if (event.type === "pointerup" && drag && !drag.moved && pointers.size === 1) {
      const hit = at(...local(event), event.pointerType === "touch" ? 12 : 3);
      if (hit) select(hit.lane, hit.i); else hideTip();
    }
    pointers.delete(event.pointerId);
    if (pointers.size === 0) drag = null;
    pinch = null;
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => { if (!drag) hideTip(); });
  canvas.addEventListener("dblclick", all);
  canvas.addEventListener("focus", () => { if (!cursor && canvas.matches(":focus-visible")) enter(); });
  canvas.addEventListener("blur", hideTip);
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const shift = event.shiftKey;
    const keys = {
      "ArrowRight": () => (shift ? pan(0.25) : step(1)), "ArrowLeft": () => (shift ? pan(-0.25) : step(-1)),
      "ArrowDown": () => changeLane(1), "ArrowUp": () => changeLane(-1),
      "PageDown": () => pan(0.9), "PageUp": () => pan(-0.9),
      "Home": () => cursor && select(cursor.lane, 0), "End": () => cursor && select(cursor.lane, cursor.lane.start.length - 1),
      "+": () => zoom(0.5, focusX()), "=": () => zoom(0.5, focusX()), "w": () => zoom(0.5, focusX()),
      "-": () => zoom(2, focusX()), "s": () => zoom(2, focusX()), "0": all,
      "a": () => pan(-0.25), "d": () => pan(0.25), "Enter": closer, "n": () => next(1), "N": () => next(-1),
      "/": () => search.focus(), "Escape": hideTip,
    };
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  search.addEventListener("input", () => find(search.value));
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") next(event.shiftKey ? -1 : 1); });
  byId("in").addEventListener("click", () => zoom(0.5, focusX()));
  byId("out").addEventListener("click", () => zoom(2, focusX()));
  byId("all").addEventListener("click", all);
  byId("next").addEventListener("click", () => next(1));
  if (align) align.addEventListener("click", () => alignSteps(!bySteps()));
  window.addEventListener("resize", request);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", request);
  stage.dataset.view = "ready";
  // What is shown, for scripts and tests.
  window.timelineView = () => ({ from, to, total, matches: matchList.length, lanes: lanes.length, draw });
  draw();
})();
