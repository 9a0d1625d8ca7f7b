import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";

/** The part of YAML that settings need; every value with its line. */
export type Entry =
  | { readonly is: "map"; readonly line: number; readonly pairs: readonly Pair[] }
  | { readonly is: "list"; readonly line: number; readonly items: readonly Entry[] }
  /** `source` is the value as written. */
  | { readonly is: "plain"; readonly line: number; readonly value: unknown; readonly source: string };

export interface Pair {
  readonly key: string;
  readonly line: number;
  readonly value: Entry;
}

/** Null for an empty file. Import this module only if there is a file: the package is slow to load. */
export function readYaml(
  text: string,
): { readonly root: Entry | null } | { readonly line: number; readonly wrong: string } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineOf = (at: number) => lines.linePos(at).line;
  const [error] = [...document.errors, ...document.warnings];
  if (error?.code === "MULTIPLE_DOCS")
    return { line: lineOf(error.pos[0]), wrong: "a second YAML document begins here" };
  if (error !== undefined) return { line: lineOf(error.pos[0]), wrong: `not valid YAML: ${error.message}` };

  const entryOf = (node: Node | null, before: number): Entry => {
    const line = node?.range ? lineOf(node.range[0]) : before;
    if (isMap<Node, Node | null>(node))
      return {
        is: "map",
        line,
        pairs: node.items.map((pair) => {
          const at = pair.key.range ? lineOf(pair.key.range[0]) : line;
          return {
            key: isScalar(pair.key) ? String(pair.key.value) : String(pair.key),
            line: at,
            value: entryOf(pair.value, at),
          };
        }),
      };
    if (isSeq<Node>(node)) return { is: "list", line, items: node.items.map((item) => entryOf(item, line)) };
    const source = node?.range ? text.slice(node.range[0], node.range[1]) : "";
    // Aliases are not resolved; no setting accepts them.
    return { is: "plain", line, value: isScalar(node) ? node.value : node === null ? null : undefined, source };
  };
  const { contents } = document;
  return { root: contents === null || (isScalar(contents) && contents.value === null) ? null : entryOf(contents, 1) };
}
