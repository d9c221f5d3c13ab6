// The machine code beside the source: a row for each instruction, linked with its line both ways.

import { heatClass } from "./editor";
import type { Profile } from "./protocol";

/** More rows than this make a page slow. */
const MOST = 4000;

export class Code {
  private rows = new Map<number, HTMLTableRowElement[]>();

  constructor(
    private readonly place: HTMLElement,
    private readonly pointed: (line: number) => void,
    private readonly chosen: (line: number) => void,
  ) {}

  /** Shows a profile's code; `own` says which of its files is the one in the editor. */
  show(profile: Profile, own: (file: string) => boolean, heat: ReadonlyMap<number, number>): void {
    this.rows.clear();
    const table = document.createElement("table");
    table.className = "code";
    const head = table.createTHead().insertRow();
    for (const title of ["line", "offset", "instruction", "cycles", "stall", "regs"]) {
      const cell = document.createElement("th");
      cell.textContent = title;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const row of profile.listing.slice(0, MOST)) {
      const file = row.file === null ? undefined : profile.main.files[row.file];
      const line = file !== undefined && own(file) ? (row.line ?? 0) : 0;
      const element = body.insertRow();
      const figure = (value: number | null) => (value === null ? "?" : value === 0 ? "" : String(Math.round(value * 10) / 10));
      const cells = [line ? String(line) : "", row.offset.toString(16), row.text, figure(row.cycles), figure(row.stall), String(row.pressure / 2)];
      for (const text of cells) element.insertCell().textContent = text;
      element.cells[2]?.style.setProperty("padding-left", `${row.loop_depth}rem`);
      if (!line) continue;
      element.tabIndex = 0;
      element.className = heatClass(heat.get(line) ?? 0);
      element.onmouseenter = element.onfocus = () => this.pointed(line);
      element.onmouseleave = () => this.pointed(0);
      element.onclick = () => this.chosen(line);
      element.onkeydown = (event) => event.key === "Enter" && this.chosen(line);
      this.rows.set(line, [...(this.rows.get(line) ?? []), element]);
    }
    this.place.replaceChildren(table);
    if (profile.listing.length > MOST) {
      const more = document.createElement("p");
      more.textContent = `and ${profile.listing.length - MOST} more instructions`;
      this.place.append(more);
    }
  }

  light(line: number, scrolls = false): void {
    for (const row of this.place.querySelectorAll("tr.lit")) row.classList.remove("lit");
    const rows = this.rows.get(line) ?? [];
    for (const row of rows) row.classList.add("lit");
    if (scrolls) rows[0]?.scrollIntoView({ block: "nearest" });
  }
}
