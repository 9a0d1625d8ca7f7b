import { partsOf } from "../../core/facts/ids.ts";
import { formatUri } from "../../core/facts/uri.ts";
import { hasLimits, type Limits } from "../../core/guard/limits.ts";
import type { ToolCall, ToolDecision } from "../../core/ports/control.ts";
import type { RunEnded } from "../../core/ports/run-note.ts";
import type { AgentEvent } from "../../core/views/event.ts";
import { withGiven } from "../guard/limits-file.ts";
import { guardRun } from "../guard/run.ts";
import { feedWhile } from "../guard/start.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { openLibrary } from "../open.ts";
import { loadSettings } from "../settings/settings.ts";
import { type Channel, notWaiting } from "./channel.ts";
import { NotSupported } from "./not-supported.ts";
import type { PermissionHandler } from "./permissions.ts";
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
  /**
   * Limits of this run, which replace those of the settings, name by name. Those of the settings apply if the product
   * can ask; if it cannot, `run` rejects limits that are given here with `NotSupported`.
   */
  readonly limits?: Limits;
  /** How long `onToolCall` may take; default: 30 seconds. */
  readonly answerMs?: number;
  /**
   * Answers the permission requests of the agent and of the agents below it. Without it, the product decides by its
   * rules alone, and denies what needs a person. If the product cannot ask, `run` rejects with `NotSupported`.
   */
  readonly onPermission?: PermissionHandler;
  /**
   * Lets `watch` and the dashboard of this user control the run, and answer the permission requests that `onPermission`
   * leaves open.
   */
  readonly isShared?: boolean;
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
   * Continues an agent below it that has ended or still runs, with its history. Products offer this only to the main
   * agent, so the main agent gets a message that asks it to; it may decide otherwise.
   */
  continueAgent(agentId: string, text: string): Promise<void>;
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
  {
    cwd,
    env = process.env,
    signal,
    onToolCall,
    answerMs,
    notify,
    onPermission,
    isShared = false,
    limits,
  }: RunOptions = {},
): Promise<AgentRun> {
  const { launch, control } = withJsonInput(launchOf(command));
  const asksPermissions = onPermission !== undefined || isShared;
  const asks = asksPermissions ? control?.permissions : undefined;
  if (asksPermissions && asks === undefined) throw new NotSupported(launch.provider.product, "ask for permissions");
  const settings = await loadSettings(env);
  const inForce = withGiven(settings.values.limits, limits ?? null);
  const guard = hasLimits(inForce) ? control?.interception?.guard : undefined;
  if (limits !== undefined && hasLimits(limits) && guard === undefined)
    throw new NotSupported(launch.provider.product, "ask about its tool calls");
  const provider = launch.provider.name;
  const guarding = guard === undefined ? null : guardRun(env, inForce, { provider, guard, warn: notify ?? (() => {}) });
  const library = await openLibrary({ env, settings, notify: () => {} });
  const decide = onToolCall === undefined ? [] : [{ decide: onToolCall }];
  let controlled: ControlledRun | null = null;
  try {
    const running = await start(
      { ...launch, command: asks?.enable(launch.command) ?? launch.command },
      {
        env,
        output: null,
        listens: true,
        control,
        onIdle: () => controlled?.endIfOver(),
        onPermission,
        ...(guarding === null ? {} : { onLine: guarding.onLine }),
        interception: {
          interceptors: guarding === null ? decide : [guarding.interceptor, ...decide],
          ...(answerMs === undefined ? {} : { answerMs }),
          ...(notify === undefined ? {} : { onFault: notify }),
        },
        ...(cwd === undefined ? {} : { cwd }),
      },
    );
    signal?.addEventListener("abort", () => running.kill("SIGTERM"), { once: true });
    if (guarding !== null) feedWhile(env, inForce, running);
    controlled = new ControlledRun(running, library, launch.provider.product);
    if (isShared) await (await import("../control/run-owner.ts")).shareRun(env, running);
    if (control?.first != null) await running.channel?.send(control.first);
    // Products that do not read stdin must not wait for it.
    if (control === null) running.endInput();
    return controlled;
  } catch (error) {
    library.close();
    throw error;
  }
}

class ControlledRun implements AgentRun {
  readonly #running: Running;
  readonly #library: Library;
  readonly #product: string;
  /** When a message was last sent. */
  #sentAt = 0;
  /** The end of the last turn whose events the consumer has seen; null before that. */
  #overAt: number | null = null;

  constructor(running: Running, library: Library, product: string) {
    this.#running = running;
    this.#library = library;
    this.#product = product;
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
    if (this.#overAt !== null && this.#overAt >= this.#sentAt && this.#running.channel?.isIdle !== false)
      this.#running.endInput();
  }

  send = (text: string) => this.#message("receive another message", (channel) => channel.send(text));
  continueAgent = (agentId: string, text: string) =>
    this.#message("continue an agent", (channel) => channel.continueAgent(agentId, text));
  interrupt = () => this.#control("interrupt its turn", (channel) => channel.interrupt());
  stop = (agentId: string) => this.#control("stop an agent", (channel) => channel.stop(agentId));
  background = (agentId: string) =>
    this.#control("move an agent to the background", (channel) => channel.background(agentId));
  async injectToolResult(callId: string, content: string): Promise<void> {
    const { gate } = this.#running;
    if (gate === null)
      return this.#control("accept a tool result", (channel) => channel.injectToolResult(callId, content));
    if (!gate.deny(callId, content)) throw notWaiting(callId);
  }

  kill = (signal: NodeJS.Signals = "SIGTERM") => this.#running.kill(signal);

  #message(what: string, act: (channel: Channel) => Promise<void>): Promise<void> {
    this.#sentAt = Date.now();
    return this.#control(what, act);
  }

  async #control(what: string, act: (channel: Channel) => Promise<void>): Promise<void> {
    const { channel } = this.#running;
    if (channel === null) throw new NotSupported(this.#product, what);
    return act(channel);
  }
}
