import type { AgentEvent } from "../core/event.ts";
import { nativeCall, partsOf } from "../core/ids.ts";
import type { Control, Said } from "../core/provider.ts";
import type { RunEnded } from "../core/run-note.ts";
import { formatUri } from "../core/uri.ts";
import type { Env } from "./home.ts";
import type { Library } from "./library.ts";
import { openLibrary } from "./open.ts";
import { resolve } from "./resolve.ts";
import { launchOf, listening, type Running, start } from "./run.ts";
import { runEvents } from "./run-events.ts";
import { loadSettings } from "./settings.ts";

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Env;
  /** Ends the agent when it is aborted. */
  readonly signal?: AbortSignal;
}

/** An agent at work: what happens to it and to everybody below it, and a hand on it. */
export interface AgentRun extends AsyncIterable<AgentEvent> {
  /** Its thread, once it has said which; null if it never did. */
  readonly uri: Promise<string | null>;
  readonly ended: Promise<RunEnded>;
  /** Says something more to it. When a turn is over and nothing more is said, it ends. */
  send(text: string): Promise<void>;
  /** Stops one agent below it. */
  stop(agentId: string): Promise<void>;
  /** Lets an agent below it go on by itself, so that its parent need not wait. */
  background(agentId: string): Promise<void>;
  /** Interrupts what it does now. */
  interrupt(): Promise<void>;
  /** Answers a tool call in place of the tool. No product of today can be made to: it rejects with `NotSupported`. */
  injectToolResult(callId: string, content: string): Promise<void>;
  kill(signal?: NodeJS.Signals): void;
}

/** The product knows no such thing, or does not listen. */
export class NotSupported extends Error {
  readonly code = "not_supported";

  constructor(product: string, what: string) {
    super(`${product} cannot be told to ${what} while it runs`);
    this.name = "NotSupported";
  }
}

/** Runs an agent's command, made to tell what it does and, where it can, to listen. */
export async function run(command: readonly string[], { cwd, env = process.env, signal }: RunOptions = {}): Promise<AgentRun> {
  const { launch, control } = listening(launchOf(command));
  const library = await openLibrary({ env, settings: await loadSettings(env), talk: () => {} });
  const answers = new Map<string, (error: string | null) => void>();
  const onLine = (line: string) => {
    const answer = control?.answerIn(line) ?? null;
    if (answer !== null) answers.get(answer.id)?.(answer.error);
  };
  try {
    const running = await start(launch, { env, output: null, listens: true, onLine, ...(cwd === undefined ? {} : { cwd }) });
    signal?.addEventListener("abort", () => running.kill("SIGTERM"), { once: true });
    return new Steered(running, library, control, launch.provider.product, answers);
  } catch (error) {
    library.close();
    throw error;
  }
}

class Steered implements AgentRun {
  readonly #running: Running;
  readonly #library: Library;
  readonly #control: Control | null;
  readonly #product: string;
  readonly #answers: Map<string, (error: string | null) => void>;
  #saidAt = 0;

  constructor(running: Running, library: Library, control: Control | null, product: string, answers: Map<string, (error: string | null) => void>) {
    this.#running = running;
    this.#library = library;
    this.#control = control;
    this.#product = product;
    this.#answers = answers;
    if (control?.first != null) running.write(control.send(control.first).line);
    // What does not listen is not kept waiting for words.
    if (control === null) running.endInput();
  }

  get uri(): Promise<string | null> {
    return this.#running.thread.then((thread) => (thread === null ? null : formatUri(partsOf(thread).provider, partsOf(thread).thread, null)));
  }

  get ended(): Promise<RunEnded> {
    return this.#running.ended;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent> {
    try {
      // What it did since it was last spoken to is done, and whoever reads along has nothing to add.
      yield* runEvents(this.#library, this.#running, (at) => {
        if (at >= this.#saidAt) this.#running.endInput();
      });
    } finally {
      // Nobody listens any more, so that nothing can be answered.
      this.#running.endInput();
      await this.#running.ended;
      this.#library.close();
    }
  }

  send = (text: string) => {
    this.#saidAt = Date.now();
    return this.#say("hear more", this.#control?.send(text));
  };
  interrupt = () => this.#say("stop what it does", this.#control?.interrupt?.());
  stop = (agentId: string) => this.#say("stop an agent", this.#control?.stop?.(agentId));

  /** Claude Code 2.1.325 takes a result on its input for a new message, and waits for the tool all the same; the others do not listen at all. */
  injectToolResult(): Promise<void> {
    return Promise.reject(new NotSupported(this.#product, "take a tool's result"));
  }

  async background(agentId: string): Promise<void> {
    const what = "let an agent go on by itself";
    const ask = this.#control?.background;
    if (ask === undefined) throw new NotSupported(this.#product, what);
    const { key } = resolve(this.#library, `${await this.uri}/${agentId}`);
    const call =
      this.#library
        .forestOf([key])
        .agents.get(key)
        ?.evidence.find((e) => e.call !== null)?.call ?? null;
    if (call === null) throw new Error(`no call is known that made ${agentId}`);
    return this.#say(what, ask(nativeCall(call)));
  }

  kill = (signal: NodeJS.Signals = "SIGTERM") => this.#running.kill(signal);

  /** Resolves once the product has taken it; where it says no, that is the error. */
  async #say(what: string, said: Said | undefined): Promise<void> {
    if (said === undefined) throw new NotSupported(this.#product, what);
    const answered = said.id === null ? null : new Promise<string | null>((resolve) => this.#answers.set(said.id ?? "", resolve));
    if (!this.#running.write(said.line)) throw new Error(`${this.#product} no longer listens`);
    const error = answered === null ? null : await Promise.race([answered, this.#running.ended.then(() => null)]);
    if (error !== null) throw new Error(`${this.#product} cannot ${what}: ${error}`);
  }
}
