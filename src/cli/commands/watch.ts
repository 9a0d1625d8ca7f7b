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
  const stop = new AbortController();
  const screen = new Screen(context, stdout);
  let view: View = FIRST_VIEW;
  let [isSuspended, notice] = [false, ""];
  let trees: readonly AgentTree[] = [];
  const rows = () => rowsOf(trees, view.sort, (agent) => isFolded(view, agent));
  const troubles = new Troubles();
  const messages: string[] = [];
  const draw = () => {
    if (isSuspended) return;
    screen.draw((size, colors) => {
      const lines = screenOf(trees, rows(), view, size, colors, library.now());
      if (notice !== "") return [...lines.slice(0, -1), colors.yellow(clip(oneLine(notice), size.columns))];
      const [trouble] = troubles.list;
      if (trouble !== undefined)
        return [...lines.slice(0, -1), colors.yellow(clip(oneLine(trouble.message), size.columns))];
      return library.reading === null
        ? lines
        : [...lines.slice(0, -1), colors.dim(clip(readingLine(library.reading), size.columns))];
    });
  };
  const onKeys = (chunk: Buffer) => {
    notice = "";
    for (const pressed of keysIn(chunk.toString("utf8"))) {
      if (pressed === PERMISSION && view.permission === null && !view.isHelp && view.attaches === null) {
        void showPermission();
        continue;
      }
      const next = press(view, pressed, rows(), pageOf(screen.size));
      if (next === null) return stop.abort();
      view = next;
      if (view.attaches?.isConfirmed === true) return void continueAgent(view.attaches.uri);
      if (view.permission?.reply != null) void answer(view.permission);
    }
    draw();
  };
  const end = () => stop.abort();
  /** The request of the agent under the cursor, or the oldest one. */
  const showPermission = async () => {
    const { permissionsIn } = await import("../watch/permissions.ts");
    const open = await permissionsIn(context.env, library);
    const wanted = view.open ?? view.cursor ?? rows()[0]?.agent.uri;
    const shown = open.find(({ uri }) => uri === wanted) ?? open[0];
    if (shown === undefined) notice = "no agent that retinue controls waits for a permission";
    else view = { ...view, permission: { shown, reply: null }, scroll: 0 };
    draw();
  };
  const answer = async ({ shown, reply }: NonNullable<View["permission"]>) => {
    if (reply === null) return;
    // A key that was pressed before the end was shown does not count.
    const isSeen = isAllShown(shown, view.scroll, screen.size);
    view = { ...view, permission: isSeen ? null : { shown, reply: null } };
    if (isSeen) {
      const { answerPermission } = await import("../../app/control/control.ts");
      const outcome = { once: "allowed", always: "allowed from now on", reject: "rejected" }[reply];
      notice = await answerPermission(context.env, shown.id, { reply }).then(
        () => outcome,
        (error: Error) => error.message,
      );
    } else notice = "scroll down first: not all of the request was shown";
    draw();
  };
  /** Leaves the terminal to the product until it ends. */
  const continueAgent = async (uri: string) => {
    view = { ...view, attaches: null };
    isSuspended = true;
    leave();
    try {
      await attachInTerminal(context, library, uri);
    } catch (error) {
      notice = (error as Error).message;
    }
    isSuspended = false;
    if (stop.signal.aborted) return;
    leave = screen.enter(onKeys, draw, end);
    draw();
  };
  const sentinel = await sentinelOf(context, library, (text) => {
    notice = text;
    screen.alert(text);
  });
  const tick = setInterval(draw, TICK_MS);
  let leave = screen.enter(onKeys, draw, end);
  try {
    const retry = { signal: stop.signal, notify: (text: string) => messages.push(text), troubles };
    for await (const { threads } of live(library, retry)) {
      sentinel.changed(threads);
      if (!view.isHeld)
        trees = (await persistently(() => library.ask(() => treesOf(context, library, key)), retry)) ?? trees;
      draw();
    }
  } finally {
    clearInterval(tick);
    if (!isSuspended) leave();
    await sentinel.stop();
    library.close();
    // Printed after the screen is restored, so that messages do not overwrite it.
    for (const text of messages) context.terminal.notify(text);
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
    // A listener alone does not continue a stream that was paused when the screen was left before.
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

  /** The bell, and a notice in terminals that show one. */
  alert(text: string): void {
    this.#write(`\u001b]9;${harmless(oneLine(text), false)}\u0007\u0007`);
  }

  #write(text: string) {
    if (this.#out.writable) this.#out.write(text);
  }
}
