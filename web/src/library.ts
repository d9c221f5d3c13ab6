// A dropped library or archive: its kernels as a list that grows as it is asked for.

import type { Client } from "./client";
import type { Input, Names, What } from "./protocol";

/** Names that are listed at a time. */
const SOME = 100;

export class Library {
  input: Input | undefined;
  private from = 0;

  constructor(
    private readonly place: HTMLElement,
    private readonly client: Client,
    private readonly chosen: (kernel: string) => void,
  ) {
    this.find<HTMLInputElement>("filter").oninput = () => void this.list(true);
    this.find("more").onclick = () => void this.list(false);
  }

  async open(input: Input): Promise<void> {
    const what = await this.client.ask<What>({ ask: "open", input });
    this.input = input;
    this.place.hidden = false;
    this.find<HTMLInputElement>("filter").value = "";
    const { names } = await this.list(true);
    if (what.kernels === 1 && names[0]) this.chosen(names[0]);
  }

  close(): void {
    this.input = undefined;
    this.place.hidden = true;
  }

  private async list(anew: boolean): Promise<Names> {
    if (anew) this.from = 0;
    const holding = this.find<HTMLInputElement>("filter").value;
    const found = await this.client.ask<Names>({ ask: "kernels", holding, from: this.from, most: SOME });
    const rows = found.names.map((name) => {
      const row = document.createElement("li");
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: name });
      button.onclick = () => {
        for (const other of this.place.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
        button.setAttribute("aria-current", "true");
        this.chosen(name);
      };
      row.append(button);
      return row;
    });
    const names = this.find("names");
    if (anew) names.replaceChildren(...rows);
    else names.append(...rows);
    this.from += rows.length;
    this.find("count").textContent = `${found.all.toLocaleString("en")} kernel${found.all === 1 ? "" : "s"}`;
    this.find("more").hidden = this.from >= found.all;
    return found;
  }

  private find<T extends HTMLElement>(id: string): T {
    return this.place.querySelector(`#${id}`) as T;
  }
}
