import { nativeCall, partsOf } from "../../core/facts/ids.ts";
import { formatUri } from "../../core/facts/uri.ts";
import type { Control, ControlMessage } from "../../core/ports/provider.ts";
import type { RunEnded } from "../../core/ports/run-note.ts";
import type { AgentEvent } from "../../core/views/event.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { openLibrary } from "../open.ts";
import { resolve } from "../query/resolve.ts";
import { loadSettings } from "../settings/settings.ts";
import { NotSupported } from "./not-supported.ts";
import { launchOf, type Running, start, withJsonInput } from "./run.ts";
import { runEvents } from "./run-events.ts";

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Env;
  /** Aborting it ends the agent. */
  readonly signal?: AbortSignal;
}

/** A running agent: its events, those of the agents below it, and methods to control it. */
export interface AgentRun extends AsyncIterable<AgentEvent> {
  /** The URI of its thread, once known; null if it never becomes known. */
  readonly uri: Promise<string | null>;
  readonly ended: Promise<RunEnded>;
  /** Sends a message. When a turn ends and no message is pending, the agent exits. */
  send(text: string): Promise<void>;
  /** Stops one agent below it. */
  stop(agentId: string): Promise<void>;
  /** Moves an agent below it to the background, so that its parent does not wait for it. */
  background(agentId: string): Promise<void>;
  /** Interrupts the current turn. */
  interrupt(): Promise<void>;
  /**
   * Supplies the result of a tool call in place of the tool. No product supports this today: rejects with
   * `NotSupported`.
   */
  injectToolResult(callId: string, content: string): Promise<void>;
  kill(signal?: NodeJS.Signals): void;
}

/** Runs an agent's command with machine-readable output and, if the product supports it, machine-readable input. */
export async function run(
  command: readonly string[],
  { cwd, env = process.env, signal }: RunOptions = {},
): Promise<AgentRun> {
  const { launch, control } = withJsonInput(launchOf(command));
  const library = await openLibrary({ env, settings: await loadSettings(env), notify: () => {} });
  const pending = new Map<string, (error: string | null) => void>();
  const onLine = (line: string) => {
    const response = control?.responseIn(line) ?? null;
    if (response !== null) pending.get(response.id)?.(response.error);
  };
  try {
    const running = await start(launch, {
      env,
      output: null,
      listens: true,
      onLine,
      ...(cwd === undefined ? {} : { cwd }),
    });
    signal?.addEventListener("abort", () => running.kill("SIGTERM"), { once: true });
    return new ControlledRun(running, library, control, launch.provider.product, pending);
  } catch (error) {
    library.close();
    throw error;
  }
}

class ControlledRun implements AgentRun {
  readonly #running: Running;
  readonly #library: Library;
  readonly #control: Control | null;
  readonly #product: string;
  readonly #pending: Map<string, (error: string | null) => void>;
  #saidAt = 0;

  constructor(
    running: Running,
    library: Library,
    control: Control | null,
    product: string,
    pending: Map<string, (error: string | null) => void>,
  ) {
    this.#running = running;
    this.#library = library;
    this.#control = control;
    this.#product = product;
    this.#pending = pending;
    if (control?.first != null) running.write(control.send(control.first).line);
    // Products that do not read stdin must not wait for it.
    if (control === null) running.endInput();
  }

  get uri(): Promise<string | null> {
    return this.#running.thread.then((thread) =>
      thread === null ? null : formatUri(partsOf(thread).provider, partsOf(thread).thread, null),
    );
  }

  get ended(): Promise<RunEnded> {
    return this.#running.ended;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent> {
    try {
      // The turn is over, and the consumer has seen all its events and sent nothing since.
      yield* runEvents(this.#library, this.#running, (at) => {
        if (at >= this.#saidAt) this.#running.endInput();
      });
    } finally {
      // The consumer stopped reading, so it cannot respond to anything.
      this.#running.endInput();
      await this.#running.ended;
      this.#library.close();
    }
  }

  send = (text: string) => {
    this.#saidAt = Date.now();
    return this.#send("hear more", this.#control?.send(text));
  };
  interrupt = () => this.#send("interrupt its turn", this.#control?.interrupt?.());
  stop = (agentId: string) => this.#send("stop an agent", this.#control?.stop?.(agentId));

  /**
   * Claude Code 2.1.325 treats a tool result on stdin as a new message and still waits for the tool; other products do
   * not read stdin.
   */
  injectToolResult(): Promise<void> {
    return Promise.reject(new NotSupported(this.#product, "accept a tool result"));
  }

  async background(agentId: string): Promise<void> {
    const what = "move an agent to the background";
    const background = this.#control?.background;
    if (background === undefined) throw new NotSupported(this.#product, what);
    const { key } = resolve(this.#library, `${await this.uri}/${agentId}`);
    const call =
      this.#library
        .forestOf([key])
        .agents.get(key)
        ?.evidence.find((e) => e.call !== null)?.call ?? null;
    if (call === null) throw new Error(`the spawn call of ${agentId} is unknown`);
    return this.#send(what, background(nativeCall(call)));
  }

  kill = (signal: NodeJS.Signals = "SIGTERM") => this.#running.kill(signal);

  /** Resolves when the product has accepted the request; rejects with its error. */
  async #send(what: string, message: ControlMessage | undefined): Promise<void> {
    if (message === undefined) throw new NotSupported(this.#product, what);
    const acknowledged =
      message.id === null
        ? null
        : new Promise<string | null>((resolve) => this.#pending.set(message.id ?? "", resolve));
    if (!this.#running.write(message.line)) throw new Error(`${this.#product} no longer reads its input`);
    const error =
      acknowledged === null ? null : await Promise.race([acknowledged, this.#running.ended.then(() => null)]);
    if (error !== null) throw new Error(`${this.#product} cannot ${what}: ${error}`);
  }
}
