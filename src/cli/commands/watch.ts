import { Failure } from "../../app/failure.ts";
import type { Library } from "../../app/library.ts";
import { live } from "../../app/live.ts";
import { persistently } from "../../app/retry.ts";
import { Troubles } from "../../app/troubles.ts";
import type { AgentTree } from "../../core/agent.ts";
import type { AgentKey } from "../../core/ids.ts";
import type { Context } from "../context.ts";
import { oneLine } from "../render/printable.ts";
import { clip } from "../render/table.ts";
import { harmless } from "../terminal.ts";
import { rowsOf } from "../watch/rows.ts";
import { pageOf, type Size, screenOf } from "../watch/screen.ts";
import { FIRST_VIEW, isFolded, press, type View } from "../watch/view.ts";

/** Threads shown where none is named. */
const THREADS = 20;
const TICK_MS = 1_000;
const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";

/** The live tree in the terminal. */
export async function watch(context: Context, uri: string | undefined): Promise<void> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY || context.json)
    throw new Failure("usage", "watch wants a terminal", ["write retinue tree <uri>, or retinue events <uri> --follow for a program"]);
  const { library, key } = await sought(context, uri);
  const stop = new AbortController();
  const screen = new Screen(context, stdout);
  let view: View = FIRST_VIEW;
  let trees: readonly AgentTree[] = [];
  const rows = () => rowsOf(trees, view.sort, (agent) => isFolded(view, agent));
  const troubles = new Troubles();
  const said: string[] = [];
  const draw = () =>
    screen.draw((size, colors) => {
      const lines = screenOf(trees, rows(), view, size, colors, library.now());
      const [trouble] = troubles.list;
      return trouble === undefined ? lines : [...lines.slice(0, -1), colors.yellow(clip(oneLine(trouble.message), size.columns))];
    });
  const onKeys = (chunk: Buffer) => {
    for (const pressed of keysIn(chunk.toString("utf8"))) {
      const next = press(view, pressed, rows(), pageOf(screen.size));
      if (next === null) return stop.abort();
      view = next;
    }
    draw();
  };
  const end = () => stop.abort();
  const tick = setInterval(draw, TICK_MS);
  const leave = screen.enter(onKeys, draw, end);
  try {
    const retry = { signal: stop.signal, talk: (words: string) => said.push(words), troubles };
    for await (const _ of live(library, retry)) {
      if (!view.isHeld) trees = (await persistently(() => library.ask(() => treesOf(context, library, key)), retry)) ?? trees;
      draw();
    }
  } finally {
    clearInterval(tick);
    leave();
    library.close();
    // Not earlier: it would stand in the middle of the screen.
    for (const words of said) context.terminal.talk(words);
  }
}

async function sought(context: Context, uri: string | undefined): Promise<{ readonly library: Library; readonly key: AgentKey | null }> {
  if (uri === undefined) return { library: await context.library(), key: null };
  const { library, agents } = await context.find(uri);
  return { library, key: agents[0].key };
}

/** The tree asked for, or the threads that were at work last. */
function treesOf(context: Context, library: Library, key: AgentKey | null): AgentTree[] {
  const treeOf = (of: AgentKey) => context.treeOf(library.forestOf([of]), of);
  return key !== null ? [treeOf(key)] : [...library.threadRows({ limit: THREADS })].map(({ place }) => treeOf(place.key));
}

/** What was pressed: characters, and what arrows and the like send. */
function keysIn(text: string): string[] {
  return text.match(/\u001b\[[\d;]*[A-Za-z~]|[\s\S]/gu) ?? [];
}

/** Writes only lines that changed: good over a slow line. */
class Screen {
  readonly #context: Context;
  readonly #out: NodeJS.WriteStream;
  #last: readonly string[] = [];

  constructor(context: Context, out: NodeJS.WriteStream) {
    this.#context = context;
    this.#out = out;
  }

  get size(): Size {
    return { columns: this.#out.columns || 80, rows: this.#out.rows || 24 };
  }

  /** Takes the terminal; the answer gives it back as it was. `onEnd` hears that somebody wants us gone, or that the terminal is. */
  enter(onKeys: (chunk: Buffer) => void, onResize: () => void, onEnd: () => void): () => void {
    const { stdin } = process;
    const resized = () => {
      this.#last = [];
      this.#write("\u001b[2J");
      onResize();
    };
    // A terminal that is gone cannot be written to; there is nobody to tell.
    this.#out.removeAllListeners("error");
    this.#out.on("error", onEnd);
    stdin.on("error", onEnd);
    stdin.on("end", onEnd);
    stdin.setRawMode(true);
    stdin.on("data", onKeys);
    this.#out.on("resize", resized);
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
    for (const signal of signals) process.once(signal, onEnd);
    this.#write(`${ENTER}\u001b[2J`);
    return () => {
      this.#out.off("resize", resized);
      stdin.off("data", onKeys);
      for (const signal of signals) process.off(signal, onEnd);
      try {
        stdin.setRawMode(false);
      } catch {
        // The terminal is gone; there is nothing to give back.
      }
      stdin.pause();
      this.#write(LEAVE);
    };
  }

  draw(make: (size: Size, colors: Context["terminal"]["colors"]) => readonly string[]): void {
    const lines = make(this.size, this.#context.terminal.colors).map((line) => harmless(line, true));
    const changed = lines.flatMap((line, i) => (line === this.#last[i] ? [] : [`\u001b[${i + 1};1H${line}\u001b[K`]));
    this.#last = lines;
    if (changed.length > 0) this.#write(changed.join(""));
  }

  #write(text: string) {
    if (this.#out.writable) this.#out.write(text);
  }
}
