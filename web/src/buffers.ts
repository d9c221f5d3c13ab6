// Results of a run: numbers, and a picture in which each number is a point, from the least (dark) to the largest (light).

import type { Buffer } from "./protocol";

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

type Reader = [number, (view: DataView, at: number) => number];

const READERS: Record<string, Reader> = {
  f32: [4, (view, at) => view.getFloat32(at, true)],
  f16: [2, (view, at) => half(view.getUint16(at, true))],
  bf16: [2, (view, at) => new DataView(new Uint32Array([view.getUint16(at, true) << 16]).buffer).getFloat32(0, true)],
  u8: [1, (view, at) => view.getUint8(at)],
  bool: [1, (view, at) => view.getUint8(at)],
  i8: [1, (view, at) => view.getInt8(at)],
  u16: [2, (view, at) => view.getUint16(at, true)],
  i16: [2, (view, at) => view.getInt16(at, true)],
  u32: [4, (view, at) => view.getUint32(at, true)],
  i32: [4, (view, at) => view.getInt32(at, true)],
  u64: [8, (view, at) => Number(view.getBigUint64(at, true))],
  i64: [8, (view, at) => Number(view.getBigInt64(at, true))],
};

/** Numbers shown as text. */
const SHOWN = 64;
/** Points of a picture. */
const POINTS = 1 << 20;

export function numbers(buffer: Buffer): Float64Array {
  const [size, read] = READERS[buffer.type] ?? READERS["u8"]!;
  const view = new DataView(buffer.bytes.buffer, buffer.bytes.byteOffset, buffer.bytes.byteLength);
  return Float64Array.from({ length: Math.floor(buffer.bytes.length / size) }, (_, index) => read(view, index * size));
}

/** Columns of a picture: the grid's first extent where it divides the buffer, else about a square. */
function width(length: number, grid: number[]): number {
  const first = grid[0] ?? 0;
  if ((grid[1] ?? 1) > 1 && first > 1 && length % first === 0) return first;
  const root = Math.ceil(Math.sqrt(length));
  return Math.max(1, 2 ** Math.ceil(Math.log2(root)));
}

function picture(values: Float64Array, columns: number): HTMLCanvasElement {
  const length = Math.min(values.length, POINTS);
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = Math.max(1, Math.ceil(length / columns));
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  const image = context.createImageData(canvas.width, canvas.height);
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const range = most > least ? most - least : 1;
  for (let index = 0; index < length; index++) {
    const value = values[index] ?? 0;
    const level = Math.round((255 * (value - least)) / range);
    // What is no number is red.
    image.data.set(Number.isFinite(value) ? [level, level, level, 255] : [255, 0, 0, 255], 4 * index);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

export function show(place: HTMLElement, buffers: Buffer[], grid: number[]): void {
  for (const buffer of buffers) {
    const values = numbers(buffer);
    const title = document.createElement("h2");
    title.textContent = `${buffer.index} ${buffer.name}: ${values.length} ${buffer.type}`;
    const canvas = picture(values, width(values.length, grid));
    canvas.className = "picture";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `The ${values.length} numbers of ${buffer.name} as a picture`);
    const text = document.createElement("pre");
    const shown = Array.from(values.slice(0, SHOWN), (value) => (Number.isInteger(value) ? String(value) : value.toPrecision(6)));
    text.textContent = shown.join(" ") + (values.length > SHOWN ? " …" : "");
    place.append(title, canvas, text);
  }
}
