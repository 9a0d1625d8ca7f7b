import type { Readable } from "node:stream";
import pc from "picocolors";
import type { OnProgress } from "../app/ingest/library.ts";
import { duration, bytes as size } from "../core/tools/format.ts";
import { visible } from "../core/tools/visible.ts";

/** The process that a command runs in, or a stand-in for it. */
export interface Host {
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/** The output of a command, its width and its colours. Data goes to stdout, messages go to stderr. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly notify: (text: string) => void;
  /** Width in columns; null if the output is not a terminal and lines need no limit. */
  readonly width: number | null;
  readonly colors: ReturnType<typeof pc.createColors>;
  /** Shows the progress of long work; null if stderr is not a terminal. */
  readonly progress: Progress | null;
  /** The same for work other than reading files. */
  readonly progressOf: ((doing: string, what: string) => Progress) | null;
}

export type Progress = OnProgress;

export function openTerminal(
  options: { readonly color: boolean; readonly quiet: boolean },
  { stdout, stderr, env }: Pick<Host, "stdout" | "stderr" | "env"> = process,
): Terminal {
  const colorful =
    options.color &&
    !env.NO_COLOR &&
    (stdout.isTTY === true || (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0"));
  const columns = Number(env.COLUMNS);
  const progressOf =
    stderr.isTTY && !options.quiet ? (doing: string, what: string) => progressBar(stderr, doing, what) : null;
  return {
    out: (text) => stdout.write(`${harmless(text, colorful)}\n`),
    notify: (text) => {
      if (!options.quiet) stderr.write(`${harmless(text, colorful)}\n`);
    },
    width: stdout.isTTY ? stdout.columns || 80 : Number.isInteger(columns) && columns > 0 ? columns : null,
    colors: pc.createColors(colorful),
    progress: progressOf?.("reading", "files") ?? null,
    progressOf,
  };
}

/** The escape codes that `colors` writes. */
const OWN_COLORS = /(\u001b\[(?:[0127]|2[27]|3[1-9])m)/;

/** Removes control characters, which may come from transcripts, except our own colours. */
export function harmless(text: string, colorful: boolean): string {
  if (!colorful) return visible(text);
  return text
    .split(OWN_COLORS)
    .map((part, i) => (i % 2 === 1 ? part : visible(part)))
    .join("");
}

/** Drawn only after a delay, so that short work does not flicker. */
function progressBar(stream: NodeJS.WritableStream, doing: string, what: string): Progress {
  let [began, drawn] = [performance.now(), 0];
  return (done, all, bytes) => {
    const now = performance.now();
    if (done === all) {
      if (drawn > 0) stream.write("\r\u001b[K");
      [began, drawn] = [now, 0];
      return;
    }
    if (now - began < 500 || now - drawn < 100) return;
    drawn = now;
    const share = bytes === undefined ? done / all : bytes.done / Math.max(1, bytes.all);
    const left = share === 0 ? "" : `, ${duration(((now - began) / share) * (1 - share))} left`;
    const full = Math.round(share * CELLS);
    const sizes = bytes === undefined ? "" : `, ${size(bytes.done)} of ${size(bytes.all)}`;
    stream.write(
      `\r${doing} ${"█".repeat(full)}${"░".repeat(CELLS - full)} ${done}/${all} ${what}${sizes}${left}\u001b[K`,
    );
  };
}

const CELLS = 24;
