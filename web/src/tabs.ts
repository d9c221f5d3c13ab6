// Panes and their tabs, as assistive technology expects them: arrows move between tabs.

export class Tabs {
  private tabs = new Map<string, { tab: HTMLButtonElement; pane: HTMLDivElement }>();
  current: string;

  constructor(list: HTMLElement, panes: HTMLElement, names: string[], private readonly chosen: (name: string) => void) {
    this.current = names[0] ?? "";
    for (const name of names) {
      const tab = document.createElement("button");
      const pane = document.createElement("div");
      const id = name.toLowerCase();
      Object.assign(tab, { type: "button", id: `tab-${id}`, textContent: name, onclick: () => this.choose(name) });
      Object.assign(pane, { id: `pane-${id}`, tabIndex: 0 });
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", pane.id);
      pane.setAttribute("role", "tabpanel");
      pane.setAttribute("aria-labelledby", tab.id);
      list.append(tab);
      panes.append(pane);
      this.tabs.set(name, { tab, pane });
    }
    list.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const at = (names.indexOf(this.current) + step + names.length) % names.length;
      this.choose(names[at] ?? this.current);
      this.tabs.get(this.current)?.tab.focus();
    };
    this.show();
  }

  pane(name: string): HTMLDivElement {
    return this.tabs.get(name)?.pane ?? document.createElement("div");
  }

  choose(name: string): void {
    if (!this.tabs.has(name)) return;
    this.current = name;
    this.show();
    this.chosen(name);
  }

  private show(): void {
    for (const [name, { tab, pane }] of this.tabs) {
      const selected = name === this.current;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1;
      pane.hidden = !selected;
    }
  }
}
