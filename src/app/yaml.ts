import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";

/** A YAML file as far as settings need it, every part with the line it stands on. */
export type Entry =
  | { readonly is: "map"; readonly line: number; readonly pairs: readonly Pair[] }
  | { readonly is: "list"; readonly line: number; readonly items: readonly Entry[] }
  /** `words` is the value as it was written. */
  | { readonly is: "plain"; readonly line: number; readonly value: unknown; readonly words: string };

export interface Pair {
  readonly key: string;
  readonly line: number;
  readonly value: Entry;
}

/** Null for a file that says nothing. Import this module only where there is a file to read: the package is slow to load. */
export function readYaml(text: string): { readonly root: Entry | null } | { readonly line: number; readonly wrong: string } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineOf = (at: number) => lines.linePos(at).line;
  const [error] = [...document.errors, ...document.warnings];
  if (error?.code === "MULTIPLE_DOCS") return { line: lineOf(error.pos[0]), wrong: "a second YAML document begins here" };
  if (error !== undefined) return { line: lineOf(error.pos[0]), wrong: `not valid YAML: ${error.message}` };

  const entryOf = (node: Node | null, before: number): Entry => {
    const line = node?.range ? lineOf(node.range[0]) : before;
    if (isMap<Node, Node | null>(node))
      return {
        is: "map",
        line,
        pairs: node.items.map((pair) => {
          const at = pair.key.range ? lineOf(pair.key.range[0]) : line;
          return { key: isScalar(pair.key) ? String(pair.key.value) : String(pair.key), line: at, value: entryOf(pair.value, at) };
        }),
      };
    if (isSeq<Node>(node)) return { is: "list", line, items: node.items.map((item) => entryOf(item, line)) };
    const words = node?.range ? text.slice(node.range[0], node.range[1]) : "";
    // Aliases stay what they are: a value that no setting can have.
    return { is: "plain", line, value: isScalar(node) ? node.value : node === null ? null : undefined, words };
  };
  const { contents } = document;
  return { root: contents === null || (isScalar(contents) && contents.value === null) ? null : entryOf(contents, 1) };
}
