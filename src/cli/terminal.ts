import pc from "picocolors";
import { visible } from "../core/visible.ts";

/** Where a command writes, and how wide and colourful that may be. stdout is data, stderr is talk. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly talk: (text: string) => void;
  /** Columns to fill; null when nobody looks and lines may be as long as they are. */
  readonly width: number | null;
  readonly colors: ReturnType<typeof pc.createColors>;
  /** Shows how far long work is, on a terminal only. */
  readonly progress: Progress | null;
  /** The same for other work than reading files. */
  readonly progressOf: ((doing: string, what: string) => Progress) | null;
}

export type Progress = (done: number, all: number) => void;

export function openTerminal(options: { readonly color: boolean; readonly quiet: boolean }): Terminal {
  const { stdout, stderr, env } = process;
  const colorful = options.color && !env.NO_COLOR && (stdout.isTTY === true || (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0"));
  const columns = Number(env.COLUMNS);
  const progressOf = stderr.isTTY && !options.quiet ? (doing: string, what: string) => progressBar(stderr, doing, what) : null;
  return {
    out: (text) => stdout.write(`${harmless(text, colorful)}\n`),
    talk: (text) => {
      if (!options.quiet) stderr.write(`${harmless(text, colorful)}\n`);
    },
    width: stdout.isTTY ? stdout.columns || 80 : Number.isInteger(columns) && columns > 0 ? columns : null,
    colors: pc.createColors(colorful),
    progress: progressOf?.("reading", "files") ?? null,
    progressOf,
  };
}

/** The codes that `colors` writes. */
const OWN_COLORS = /(\u001b\[(?:[0127]|2[27]|3[1-9])m)/;

/** What every text goes through before a terminal gets it: whatever a transcript holds, the terminal obeys nothing but our own colours. */
export function harmless(text: string, colorful: boolean): string {
  if (!colorful) return visible(text);
  return text
    .split(OWN_COLORS)
    .map((part, i) => (i % 2 === 1 ? part : visible(part)))
    .join("");
}

/** Drawn only once work takes long enough to be noticed. */
function progressBar(stream: NodeJS.WriteStream, doing: string, what: string): Progress {
  const began = performance.now();
  let drawn = 0;
  return (done, all) => {
    const now = performance.now();
    if (done === all) {
      if (drawn > 0) stream.write("\r\u001b[K");
      return;
    }
    if (now - began < 500 || now - drawn < 100) return;
    drawn = now;
    const cells = 24;
    const full = Math.round((done / all) * cells);
    stream.write(`\r${doing} ${"█".repeat(full)}${"░".repeat(cells - full)} ${done}/${all} ${what}`);
  };
}
