import type { Terminal } from "../terminal.ts";

const CONTEXT_LINES = 2;

/** A diff with a few lines of context. Shows everything between the first and the last changed line as changed. */
export function changeOf(before: string | null, after: string | null): string[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const head = sameAtStart(old, now);
  const tail = Math.min(sameAtStart(old.toReversed(), now.toReversed()), Math.min(old.length, now.length) - head);
  if (head === old.length && head === now.length) return [];
  const context = (lines: readonly string[]) => lines.map((line) => `  ${line}`);
  return [
    ...context(old.slice(Math.max(0, head - CONTEXT_LINES), head)),
    ...old.slice(head, old.length - tail).map((line) => `- ${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+ ${line}`),
    ...context(old.slice(old.length - tail, old.length - tail + CONTEXT_LINES)),
  ];
}

const linesOf = (text: string | null) => (text === null || text === "" ? [] : text.replace(/\n$/, "").split("\n"));

function sameAtStart(a: readonly string[], b: readonly string[]): number {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same += 1;
  return same;
}

interface FileChange {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** Prints the change of a file, with its name. */
export function showChange({ out, colors }: Terminal, { path, before, after }: FileChange): void {
  const lines = changeOf(before, after);
  if (lines.length === 0) return;
  out(
    colors.bold(
      before === null ? `${path} (a new file)` : after === null ? `${path} (deleted; retinue created it)` : path,
    ),
  );
  for (const line of lines)
    out((line.startsWith("+") ? colors.green : line.startsWith("-") ? colors.red : colors.dim)(line));
}
