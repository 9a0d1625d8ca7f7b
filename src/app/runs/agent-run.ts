import { nativeCall, partsOf } from "../../core/facts/ids.ts";
import { formatUri } from "../../core/facts/uri.ts";
import type { Control, ControlMessage, ToolCall, ToolDecision } from "../../core/ports/control.ts";
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
  /**
   * Decides about each tool call of the agent and of the agents below it, at any depth, before the tool runs.
   * `"allow"`: the call continues as without a handler, so the permission rules of the product still apply. A handler
   * that throws, or does not answer within `answerMs`, counts as `"allow"`. If the product cannot ask, `run` rejects
   * with `NotSupported`.
   */
  readonly onToolCall?: (call: ToolCall) => ToolDecision | Promise<ToolDecision>;
  /** How long `onToolCall` may take; default: 30 seconds. */
  readonly answerMs?: number;
  /** Receives a sentence when a decision failed or was late. */
  readonly notify?: (text: string) => void;
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
   * Answers a tool call in place of the tool: the tool does not run, and the model receives `content` as an error result
   * of the call, with a prefix of the product. It is not a successful result; no product accepts one. Possible only
   * while `onToolCall` decides about this call; its later decision is ignored. Rejects otherwise.
   */
  injectToolResult(callId: string, content: string): Promise<void>;
  kill(signal?: NodeJS.Signals): void;
}

/** Runs an agent's command with machine-readable output and, if the product supports it, machine-readable input. */
export async function run(
  command: readonly string[],
  { cwd, env = process.env, signal, onToolCall, answerMs, notify }: RunOptions = {},
): Promise<AgentRun> {
  const { launch, control } = withJsonInput(launchOf(command));
  const library = await openLibrary({ env, settings: await loadSettings(env), notify: () => {} });
  const pending = new Map<string, (error: string | null) => void>();
  const onLine = (line: string) => {
    const response = control?.responseIn(line) ?? null;
    if (response !== null) pending.get(response.id)?.(response.error);
  };
  let controlled: ControlledRun | null = null;
  try {
    const running = await start(launch, {
      env,
      output: null,
      listens: true,
      onLine,
      onIdle: () => controlled?.endIfOver(),
      control,
      ...(onToolCall === undefined
        ? {}
        : {
            interception: {
              interceptors: [{ decide: onToolCall }],
              ...(answerMs === undefined ? {} : { answerMs }),
              ...(notify === undefined ? {} : { onFault: notify }),
            },
          }),
      ...(cwd === undefined ? {} : { cwd }),
    });
    signal?.addEventListener("abort", () => running.kill("SIGTERM"), { once: true });
    controlled = new ControlledRun(
      running,
      library,
      control,
      launch.provider.product,
      pending,
      onToolCall !== undefined,
    );
    return controlled;
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
  readonly #intercepts: boolean;
  /** When a message was last sent. */
  #sentAt = 0;
  /** The end of the last turn whose events the consumer has seen; null before that. */
  #overAt: number | null = null;

  constructor(
    running: Running,
    library: Library,
    control: Control | null,
    product: string,
    pending: Map<string, (error: string | null) => void>,
    intercepts: boolean,
  ) {
    this.#running = running;
    this.#library = library;
    this.#control = control;
    this.#product = product;
    this.#pending = pending;
    this.#intercepts = intercepts;
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
      yield* runEvents(this.#library, this.#running, (at) => {
        this.#overAt = at;
        this.endIfOver();
      });
    } finally {
      // The consumer stopped reading, so it cannot respond to anything.
      this.#running.endInput();
      await this.#running.ended;
      this.#library.close();
    }
  }

  /** The turn is over, no agent runs, and the consumer has seen all events and sent nothing since. */
  endIfOver(): void {
    if (this.#overAt !== null && this.#overAt >= this.#sentAt && this.#running.isIdle) this.#running.endInput();
  }

  send = (text: string) => {
    this.#sentAt = Date.now();
    return this.#send("hear more", this.#control?.send(text));
  };
  interrupt = () => this.#send("interrupt its turn", this.#control?.interrupt?.());
  stop = (agentId: string) => this.#send("stop an agent", this.#control?.stop?.(agentId));

  async injectToolResult(callId: string, content: string): Promise<void> {
    if (!this.#intercepts) throw new NotSupported(this.#product, "accept a tool result without onToolCall");
    if (!this.#running.denyCall(callId, content))
      throw new Error(`the call ${callId} does not wait for a decision: it has run, or was decided before`);
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
    const write = message.id === null ? this.#running.sendMessage : this.#running.write;
    if (!write(message.line)) throw new Error(`${this.#product} no longer reads its input`);
    const error =
      acknowledged === null ? null : await Promise.race([acknowledged, this.#running.ended.then(() => null)]);
    if (error !== null) throw new Error(`${this.#product} cannot ${what}: ${error}`);
  }
}
