import { Failure } from "../../app/failure.ts";
import { Sentinel } from "../../app/guard/sentinel.ts";
import type { Reading } from "../../app/ingest/backlog.ts";
import type { Library } from "../../app/ingest/library.ts";
import { FIRST_PAGE, live } from "../../app/live/live.ts";
import { persistently } from "../../app/live/retry.ts";
import { Troubles } from "../../app/live/troubles.ts";
import type { AgentKey } from "../../core/facts/ids.ts";
import { bytes, duration, exact, plural } from "../../core/tools/format.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import type { Context } from "../context.ts";
import { oneLine } from "../render/printable.ts";
import { clip } from "../render/table.ts";
import { harmless } from "../terminal.ts";
import { rowsOf } from "../watch/rows.ts";
import { isAllShown, pageOf, type Size, screenOf } from "../watch/screen.ts";
import { FIRST_VIEW, isFolded, PERMISSION, press, type View } from "../watch/view.ts";

/** Number of threads shown without a URI. */
const THREADS = 20;
const TICK_MS = 1_000;
const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";

/** The live tree in the terminal. */
export async function watch(context: Context, uri: string | undefined): Promise<void> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY || context.json)
    throw new Failure("usage", "watch needs a terminal", [
      "use retinue tree <uri>, or retinue events <uri> --follow in scripts",
    ]);
  const { library, key } = await targetOf(context, uri);
  await new Watching(context, library, key, new Screen(context, stdout)).run();
}

/** One session of `watch`: reads changes, draws them and handles keys until the user quits. */
class Watching {
  readonly #context: Context;
  readonly #library: Library;
  readonly #key: AgentKey | null;
  readonly #screen: Screen;
  readonly #stop = new AbortController();
  readonly #troubles = new Troubles();
  readonly #messages: string[] = [];
  #view: View = FIRST_VIEW;
  #trees: readonly AgentTree[] = [];
  #notice = "";
  /** An attached product uses the terminal. */
  #isSuspended = false;
  /** Restores the terminal. */
  #leave = () => {};

  constructor(context: Context, library: Library, key: AgentKey | null, screen: Screen) {
    this.#context = context;
    this.#library = library;
    this.#key = key;
    this.#screen = screen;
  }

  async run(): Promise<void> {
    const [context, library] = [this.#context, this.#library];
    const sentinel = await sentinelOf(context, library, (text) => {
      this.#notice = text;
      this.#screen.alert(text);
    });
    const tick = setInterval(this.#draw, TICK_MS);
    this.#enter();
    try {
      const notify = (text: string) => this.#messages.push(text);
      const retry = { signal: this.#stop.signal, notify, troubles: this.#troubles };
      const read = () => library.query(() => treesOf(context, library, this.#key));
      for await (const { threads } of live(library, retry)) {
        sentinel.changed(threads);
        if (!this.#view.isHeld) this.#trees = (await persistently(read, retry)) ?? this.#trees;
        this.#draw();
      }
    } finally {
      clearInterval(tick);
      if (!this.#isSuspended) this.#leave();
      await sentinel.stop();
      library.close();
      // Printed after the screen is restored, so that messages do not overwrite it.
      for (const text of this.#messages) context.terminal.notify(text);
    }
  }

  #enter(): void {
    this.#leave = this.#screen.enter(this.#onKeys, this.#draw, () => this.#stop.abort());
  }

  #rows() {
    return rowsOf(this.#trees, this.#view.sort, (agent) => isFolded(this.#view, agent));
  }

  #draw = (): void => {
    if (this.#isSuspended) return;
    const library = this.#library;
    this.#screen.draw((size, colors) => {
      const lines = screenOf(this.#trees, this.#rows(), this.#view, size, colors, library.now());
      const withLast = (text: string, paint: (text: string) => string) => [
        ...lines.slice(0, -1),
        paint(clip(text, size.columns)),
      ];
      const warning = this.#notice === "" ? this.#troubles.list[0]?.message : this.#notice;
      if (warning !== undefined) return withLast(oneLine(warning), colors.yellow);
      return library.reading === null ? lines : withLast(readingLine(library.reading), colors.dim);
    });
  };

  #onKeys = (chunk: Buffer) => {
    this.#notice = "";
    for (const pressed of keysIn(chunk.toString("utf8"))) {
      const { permission, isHelp, attaches } = this.#view;
      if (pressed === PERMISSION && permission === null && !isHelp && attaches === null) {
        void this.#showPermission();
        continue;
      }
      const next = press(this.#view, pressed, this.#rows(), pageOf(this.#screen.size));
      if (next === null) return this.#stop.abort();
      this.#view = next;
      if (next.attaches?.isConfirmed === true) return void this.#continueAgent(next.attaches.uri);
      if (next.permission?.reply != null) void this.#answer(next.permission);
    }
    this.#draw();
  };

  /** The request of the agent under the cursor, or the oldest one. */
  async #showPermission(): Promise<void> {
    const { permissionsIn } = await import("../watch/permissions.ts");
    const open = await permissionsIn(this.#context.env, this.#library);
    const wanted = this.#view.open ?? this.#view.cursor ?? this.#rows()[0]?.agent.uri;
    const shown = open.find(({ uri }) => uri === wanted) ?? open[0];
    if (shown === undefined) this.#notice = "no agent that retinue controls waits for a permission";
    else this.#view = { ...this.#view, permission: { shown, reply: null }, scroll: 0 };
    this.#draw();
  }

  async #answer({ shown, reply }: NonNullable<View["permission"]>): Promise<void> {
    if (reply === null) return;
    // An answer counts only after the end of the request was on the screen.
    const isSeen = isAllShown(shown, this.#view.scroll, this.#screen.size);
    this.#view = { ...this.#view, permission: isSeen ? null : { shown, reply: null } };
    if (isSeen) {
      const { answerPermission } = await import("../../app/control/control.ts");
      const outcome = { once: "allowed", always: "allowed from now on", reject: "rejected" }[reply];
      this.#notice = await answerPermission(this.#context.env, shown.id, { reply }).then(
        () => outcome,
        (error: Error) => error.message,
      );
    } else this.#notice = "scroll down first: not all of the request was shown";
    this.#draw();
  }

  /** Leaves the terminal to the product until it ends. */
  async #continueAgent(uri: string): Promise<void> {
    this.#view = { ...this.#view, attaches: null };
    this.#isSuspended = true;
    this.#leave();
    try {
      await attachInTerminal(this.#context, this.#library, uri);
    } catch (error) {
      this.#notice = (error as Error).message;
    }
    this.#isSuspended = false;
    if (this.#stop.signal.aborted) return;
    this.#enter();
    this.#draw();
  }
}

async function targetOf(
  context: Context,
  uri: string | undefined,
): Promise<{ readonly library: Library; readonly key: AgentKey | null }> {
  if (uri === undefined) return { library: await context.library(FIRST_PAGE), key: null };
  const { library, agents } = await context.find(uri);
  return { library, key: agents[0].key };
}

/** Raises alerts while the screen is open. */
async function sentinelOf(context: Context, library: Library, show: (text: string) => void): Promise<Sentinel> {
  const { env } = context;
  return new Sentinel({ env, settings: await context.settings(), library, notify: () => {}, show });
}

/** Imported on demand, because it is rarely used. */
async function attachInTerminal(context: Context, library: Library, uri: string): Promise<void> {
  const { continueInTerminal } = await import("./attach.ts");
  await continueInTerminal(context, library, uri);
}

/** Progress of reading the older threads in the background. */
function readingLine({ done, all, bytes: read, allBytes, leftMs }: Reading): string {
  const left = leftMs === null ? "" : `, ${duration(leftMs)} left`;
  return `reading older threads: ${exact(done)} of ${plural(all, "file")}, ${bytes(read)} of ${bytes(allBytes)}${left}`;
}

/** The requested tree, or the most recently active threads. */
function treesOf(context: Context, library: Library, key: AgentKey | null): AgentTree[] {
  const treeOf = (of: AgentKey) => context.treeOf(library.forestOf([of]), of);
  return key !== null
    ? [treeOf(key)]
    : [...library.threadRows({ limit: THREADS })].map(({ place }) => treeOf(place.key));
}

/** Splits terminal input into characters and escape sequences. */
function keysIn(text: string): string[] {
  return text.match(/\u001b\[[\d;]*[A-Za-z~]|[\s\S]/gu) ?? [];
}

/** Rewrites only the lines that changed, which saves bytes on slow connections. */
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

  /**
   * Switches to the alternate screen and returns a function that restores the terminal. `onEnd` is called on a signal
   * or when the terminal closes.
   */
  enter(onKeys: (chunk: Buffer) => void, onResize: () => void, onEnd: () => void): () => void {
    const { stdin } = process;
    const resized = () => {
      this.#last = [];
      this.#write("\u001b[2J");
      onResize();
    };
    // Writing to a closed terminal fails; there is nowhere to report it.
    this.#out.removeAllListeners("error");
    this.#out.on("error", onEnd);
    stdin.on("error", onEnd);
    stdin.on("end", onEnd);
    stdin.setRawMode(true);
    stdin.on("data", onKeys);
    // Adding a listener does not resume a stream that was paused explicitly, as when the screen was left before.
    stdin.resume();
    this.#out.on("resize", resized);
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
    for (const signal of signals) process.once(signal, onEnd);
    this.#last = [];
    this.#write(`${ENTER}\u001b[2J`);
    return () => {
      this.#out.off("resize", resized);
      stdin.off("data", onKeys);
      stdin.off("end", onEnd);
      stdin.off("error", onEnd);
      for (const signal of signals) process.off(signal, onEnd);
      try {
        stdin.setRawMode(false);
      } catch {
        // The terminal is closed; nothing to restore.
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

  /** Rings the bell, and shows a desktop notification in terminals that support OSC 9. */
  alert(text: string): void {
    this.#write(`\u001b]9;${harmless(oneLine(text), false)}\u0007\u0007`);
  }

  #write(text: string) {
    if (this.#out.writable) this.#out.write(text);
  }
}
