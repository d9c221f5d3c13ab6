// The editor: Metal's words in colour, lines coloured by what they cost, errors at their lines.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentOnInput, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { clike } from "@codemirror/legacy-modes/mode/clike";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, RangeSetBuilder, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, gutter, GutterMarker, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Entry } from "./protocol";

const words = (text: string): Record<string, true> => Object.fromEntries(text.split(" ").map((word) => [word, true]));

const SPACES = "kernel vertex fragment device constant threadgroup thread threadgroup_imageblock ray_data object_data";
const SCALARS = "half float bfloat int uint short ushort char uchar long ulong bool".split(" ");
const SIZES = ["", "2", "3", "4", "2x2", "2x3", "2x4", "3x2", "3x3", "3x4", "4x2", "4x3", "4x4"];

const metal = StreamLanguage.define(
  clike({
    name: "metal",
    keywords: words(
      `${SPACES} alignas alignof auto break case class const constexpr const_cast continue decltype default delete do else enum ` +
        "explicit extern friend if inline mutable namespace new operator private protected public register reinterpret_cast return " +
        "sizeof static static_assert static_cast struct switch template this typedef typename union using virtual volatile while for",
    ),
    types: words(`void size_t ptrdiff_t ${SCALARS.flatMap((scalar) => SIZES.map((size) => scalar + size)).join(" ")}`),
    blockKeywords: words("case do else for if switch while struct enum union namespace"),
    atoms: words("true false INFINITY NAN"),
    hooks: {
      "#": (stream: { skipToEnd(): void }) => {
        stream.skipToEnd();
        return "meta";
      },
    },
  }),
);

const colours = HighlightStyle.define([
  { tag: tags.keyword, class: "word" },
  { tag: [tags.typeName, tags.standard(tags.typeName)], class: "type" },
  { tag: tags.comment, class: "comment" },
  { tag: [tags.number, tags.string, tags.atom, tags.bool], class: "number" },
  { tag: tags.meta, class: "meta" },
]);

/** What lines cost: shares of the whole by line, from 1. */
export type Heat = ReadonlyMap<number, number>;

const setHeat = StateEffect.define<Heat>();
const setLit = StateEffect.define<number>();

/** Steps of colour. A share of 30 % is as hot as it gets. */
export function heatClass(share: number): string {
  return share < 0.005 ? "" : `heat${Math.min(5, 1 + Math.floor(share * 16))}`;
}

const heatField = StateField.define<Heat>({
  create: () => new Map(),
  update: (heat, transaction) => {
    for (const effect of transaction.effects) if (effect.is(setHeat)) return effect.value;
    // An edit moves lines: what is known of them is of another text.
    return transaction.docChanged && transaction.newDoc.lines !== transaction.startState.doc.lines ? new Map() : heat;
  },
});

const litField = StateField.define<number>({
  create: () => 0,
  update: (lit, transaction) => transaction.effects.reduce((now, effect) => (effect.is(setLit) ? effect.value : now), lit),
});

function decorations(doc: Text, heat: Heat, lit: number): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const lines = [...new Set([...heat.keys(), lit])].filter((line) => line >= 1 && line <= doc.lines).sort((a, b) => a - b);
  for (const line of lines) {
    const names = [heatClass(heat.get(line) ?? 0), line === lit ? "lit" : ""].join(" ").trim();
    if (names) builder.add(doc.line(line).from, doc.line(line).from, Decoration.line({ class: names }));
  }
  return builder.finish();
}

class Share extends GutterMarker {
  constructor(private readonly text: string) {
    super();
  }

  override eq(other: Share): boolean {
    return other.text === this.text;
  }

  override toDOM(): Node {
    return document.createTextNode(this.text);
  }
}

const shares = gutter({
  class: "shares",
  lineMarker: (view, block) => {
    const share = view.state.field(heatField).get(view.state.doc.lineAt(block.from).number) ?? 0;
    return share >= 0.005 ? new Share(`${Math.round(share * 100)} %`) : null;
  },
  lineMarkerChange: (update) => update.startState.field(heatField) !== update.state.field(heatField),
  initialSpacer: () => new Share("100 %"),
});

export class Editor {
  readonly view: EditorView;

  constructor(parent: HTMLElement, changed: () => void, pointed: (line: number) => void, settled: () => void) {
    const line = (view: EditorView, event: MouseEvent) => {
      const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
      return at === null ? 0 : view.state.doc.lineAt(at).number;
    };
    this.view = new EditorView({
      parent,
      extensions: [
        lineNumbers(),
        shares,
        heatField,
        litField,
        EditorView.decorations.compute([heatField, litField, "doc"], (state) =>
          decorations(state.doc, state.field(heatField), state.field(litField)),
        ),
        history(),
        indentOnInput(),
        bracketMatching(),
        highlightSelectionMatches(),
        metal,
        syntaxHighlighting(colours),
        lintGutter(),
        // Tab leaves the editor for whoever uses the keyboard alone: Escape first, then Tab.
        keymap.of([{ key: "Mod-Enter", run: () => (settled(), true) }, ...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
        EditorState.tabSize.of(4),
        EditorView.contentAttributes.of({ "aria-label": "Metal source" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed();
          if (update.selectionSet) pointed(update.state.doc.lineAt(update.state.selection.main.head).number);
        }),
        EditorView.domEventHandlers({
          mousemove: (event, view) => pointed(line(view, event)),
          mouseleave: () => pointed(0),
        }),
      ],
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  set text(text: string) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: { anchor: 0 } });
  }

  heat(heat: Heat): void {
    this.view.dispatch({ effects: setHeat.of(heat) });
  }

  light(line: number): void {
    if (this.view.state.field(litField) !== line) this.view.dispatch({ effects: setLit.of(line) });
  }

  show(line: number): void {
    const doc = this.view.state.doc;
    if (line < 1 || line > doc.lines) return;
    this.view.dispatch({ effects: EditorView.scrollIntoView(doc.line(line).from, { y: "center" }) });
  }

  errors(entries: Entry[], severity: "error" | "warning" = "error"): void {
    const doc = this.view.state.doc;
    const found = entries.flatMap((entry): Diagnostic[] => {
      if (!entry.line || entry.line > doc.lines) return [];
      const line = doc.line(entry.line);
      const from = Math.min(line.to, line.from + Math.max(0, (entry.column ?? 1) - 1));
      return [{ from, to: line.to, severity, message: entry.message }];
    });
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }
}
