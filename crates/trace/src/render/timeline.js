"use strict";
// The timeline: lanes of intervals on a canvas, drawn from arrays sorted by start.
(() => {
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const stage = document.getElementById("stage");
  const canvas = document.getElementById("timeline");
  const tip = document.getElementById("tip");
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const context = canvas.getContext("2d");
  const LANE = 22, BAR = 16, AXIS = 24, NAME = 190;
  const CAUSES = ["#d1495b", "#edae49", "#8f6fc4", "#8b949e"];
  const total = Math.max(data.length, 1);
  let from = 0, to = total, matches = null, matchList = [], matchAt = -1, wanted = false;

  // Starts are differences in the file; intervals of a lane never overlap.
  const lanes = data.lanes.map((lane) => {
    const count = lane.start.length;
    const start = new Float64Array(count), end = new Float64Array(count);
    for (let i = 0, at = 0; i < count; i++) {
      at += lane.start[i];
      start[i] = at;
      end[i] = at + lane.length[i];
    }
    return { name: lane.name, kind: lane.kind, start, end, label: lane.label, detail: lane.detail };
  });

  const hue = (index) => (index * 137.508) % 360;
  const colours = data.labels.map((_, i) => `hsl(${hue(i)} 55% 52%)`);
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

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
  const scale = () => (size().width - NAME) / (to - from);

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
  }

  function axis(width, height) {
    const step = niceStep((to - from) / Math.max((width - NAME) / 110, 1));
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = ink("--dim");
    context.strokeStyle = ink("--line");
    context.beginPath();
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const x = NAME + (at - from) * scale();
      context.moveTo(x, AXIS - 6);
      context.lineTo(x, height);
      context.fillText(stamp(at + data.origin, step), x + 3, 13);
    }
    context.stroke();
  }

  function niceStep(raw) {
    const power = Math.pow(10, Math.floor(Math.log10(Math.max(raw, 1))));
    return [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw) || 10 * power;
  }

  function drawLane(lane, top, width) {
    context.fillStyle = ink("--ink");
    context.font = "12px system-ui, sans-serif";
    context.save();
    context.beginPath();
    context.rect(0, top, NAME - 8, LANE);
    context.clip();
    context.fillText(lane.name, 6, top + 14);
    context.restore();
    const k = scale(), y = top + 2;
    let i = firstAfter(lane, from);
    while (i < lane.start.length && lane.start[i] < to) {
      const x = NAME + Math.max((lane.start[i] - from) * k, 0);
      let right = NAME + Math.min((lane.end[i] - from) * k, width);
      let hit = matches === null || lane.kind === "gap" || matches[lane.label[i]] === 1;
      let j = i + 1;
      if (right - x < 1) {
        // Everything on this pixel is drawn as one bar, as tall as the pixel is busy. The
        // next pixel's first interval is found by bisection, so a view costs its width.
        const pixelEnd = from + (Math.floor(x - NAME) + 1) / k;
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
    if (lane.kind === "gap") return CAUSES[lane.label[i]] || CAUSES[3];
    if (lane.kind === "other") return "#8b949e";
    return colours[lane.label[i]];
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
    const centre = from + Math.max(x - NAME, 0) / scale();
    show(centre - (centre - from) * factor, centre + (to - centre) * factor);
  }

  // What lies under a point of the canvas.
  function at(x, y) {
    const index = Math.floor((y - AXIS) / LANE);
    const lane = lanes[index];
    if (!lane || x < NAME) return null;
    const k = scale(), moment = from + (x - NAME) / k;
    let i = firstAfter(lane, moment - 1.5 / k);
    if (i < lane.start.length && lane.start[i] <= moment + 1.5 / k) return { lane, i };
    return null;
  }

  function describe({ lane, i }) {
    const span = `${time(lane.end[i] - lane.start[i])} from ${time(lane.start[i] + data.origin)}`;
    if (lane.kind === "gap") {
      const wait = lane.detail[i];
      const parts = wait < 0 ? "" : `\nwaiting for the host ${time(wait)}, launch ${time(lane.end[i] - lane.start[i] - wait)}`;
      return `gap: ${data.causes[lane.label[i]]}\n${span}${parts}`;
    }
    const latency = lane.detail[i];
    const commit = latency < 0 ? "" : `\ncommitted ${time(latency)} before`;
    return `${data.labels[lane.label[i]]}\n${lane.name}\n${span}${commit}`;
  }

  function hideTip() { tip.style.display = "none"; }

  function hover(x, y) {
    const hit = at(x, y);
    if (!hit) return hideTip();
    tip.textContent = describe(hit);
    tip.style.display = "block";
    tip.style.left = Math.min(x + 14, stage.clientWidth - tip.offsetWidth - 4) + "px";
    tip.style.top = y + 16 + "px";
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
    let time_ = 0;
    lanes.forEach((lane, l) => {
      if (lane.kind === "gap") return;
      for (let i = 0; i < lane.start.length; i++) {
        if (matches[lane.label[i]] === 1) {
          matchList.push([l, i]);
          time_ += lane.end[i] - lane.start[i];
        }
      }
    });
    found.textContent = `${matchList.length.toLocaleString("en")} found, ${time(time_)}`;
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
  }

  let drag = null;
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
  canvas.addEventListener("mousedown", (event) => { drag = { x: local(event)[0], from, to }; });
  window.addEventListener("mouseup", () => { drag = null; });
  canvas.addEventListener("mousemove", (event) => {
    const [x, y] = local(event);
    if (drag) {
      const shift = (drag.x - x) / scale();
      show(drag.from + shift, drag.to + shift);
    } else {
      hover(x, y);
    }
  });
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("dblclick", () => show(0, total));
  canvas.addEventListener("keydown", (event) => {
    const width = to - from, middle = NAME + (size().width - NAME) / 2;
    const keys = {
      "+": () => zoom(0.5, middle), "=": () => zoom(0.5, middle), "w": () => zoom(0.5, middle),
      "-": () => zoom(2, middle), "s": () => zoom(2, middle), "0": () => show(0, total),
      "ArrowLeft": () => show(from - width / 4, to - width / 4), "a": () => show(from - width / 4, to - width / 4),
      "ArrowRight": () => show(from + width / 4, to + width / 4), "d": () => show(from + width / 4, to + width / 4),
    };
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  search.addEventListener("input", () => find(search.value));
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") next(event.shiftKey ? -1 : 1); });
  document.getElementById("in").addEventListener("click", () => zoom(0.5, NAME + (size().width - NAME) / 2));
  document.getElementById("out").addEventListener("click", () => zoom(2, NAME + (size().width - NAME) / 2));
  document.getElementById("all").addEventListener("click", () => show(0, total));
  document.getElementById("next").addEventListener("click", () => next(1));
  window.addEventListener("resize", request);
  stage.dataset.view = "ready";
  // What is shown, for scripts and tests.
  window.timelineView = () => ({ from, to, total, matches: matchList.length, lanes: lanes.length, draw });
  draw();
})();
