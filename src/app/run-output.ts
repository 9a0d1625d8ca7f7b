import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type AgentKey, threadKey, threadOf } from "../core/ids.ts";
import { PrintedBy } from "../core/printed.ts";
import type { Parser, Provider } from "../core/provider.ts";
import { recordedAlready, recordedLine } from "../core/recording.ts";
import { beganNote, endedNote, type RunBegan, type RunEnded } from "../core/run-note.ts";
import { PROVIDERS } from "../providers/index.ts";
import { run as unknownCommand } from "../providers/run/index.ts";
import { endOfRecording, Recorder } from "../transports/recorder.ts";
import { type Env, recordingsRoot } from "./home.ts";

interface Heard {
  readonly line: string;
  readonly at: number;
}

/** A command that says nothing for so long is listed as what it is so far: a command. */
const SILENCE_MS = 5_000;
/** No more output than this is kept in memory until it shows what it is. */
const MAX_HELD = 4 << 20;

/**
 * Records a run as output of the product that its lines show. Until they do, they are held. Where they never do, the run is recorded as what the command
 * says it is: output of a product, or just a command that began and ended.
 */
export class RunOutput {
  readonly #env: Env;
  readonly #file: string;
  readonly #name: string;
  /** Null where nothing is recorded unless the lines show a product: it writes everything down itself. */
  readonly #fallback: Provider | null;
  readonly #printedBy: PrintedBy;
  readonly #found = Promise.withResolvers<AgentKey | null>();
  #provider: Provider | null = null;
  #parser: Parser | null = null;
  #recorder: Recorder | null = null;
  #began: { readonly note: RunBegan; readonly at: number } | null = null;
  #held: Heard[] = [];
  #heldBytes = 0;
  #read = 0;
  #isDecided = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(env: Env, name: string, known: Provider, fallback: Provider | null) {
    this.#env = env;
    this.#name = name;
    this.#file = `run/${name}.jsonl`;
    this.#fallback = fallback;
    // Where several products print the same, the command tells them apart.
    this.#printedBy = new PrintedBy([known, ...PROVIDERS.filter((provider) => provider !== known)]);
  }

  /** The thread it runs, as soon as it is known; null where it never is. */
  get thread(): Promise<AgentKey | null> {
    return this.#found.promise;
  }

  /** `isKnown`: its output is not read. `isTold`: somebody is told what happens, so that nothing is listed that may turn out to be something else. */
  began(note: RunBegan, { isKnown, isTold }: { readonly isKnown: boolean; readonly isTold: boolean }): void {
    this.#began = { note, at: Date.now() };
    if (this.#isDecided) this.#recorder?.note(beganNote(note));
    else if (isKnown) this.#settle(this.#fallback);
    else if (!isTold && this.#fallback === unknownCommand) this.#timer = setTimeout(() => this.#listAsCommand(), SILENCE_MS).unref();
  }

  /** Goes on where another process stopped: with the recording it began, if it had begun one. */
  resume(note: RunBegan): void {
    const provider = PROVIDERS.find((one) => existsSync(this.#pathOf(one)) && statSync(this.#pathOf(one)).size > 0);
    if (provider !== undefined) this.#recorder = new Recorder(this.#pathOf(provider));
    this.#isDecided = provider !== undefined && provider !== unknownCommand;
    if (this.#isDecided) this.#provider = provider ?? null;
    else this.began(note, { isKnown: false, isTold: false });
  }

  /** How many of these lines the process before us had recorded when it was killed. */
  recordedAlready(lines: readonly string[]): number {
    const path = this.#isDecided ? this.#recorder?.path : undefined;
    return path === undefined ? 0 : recordedAlready(endOfRecording(path), lines);
  }

  line(line: string): void {
    if (this.#isDecided) {
      if (this.#provider !== unknownCommand) this.#recorder?.line(line);
      this.#names({ line, at: Date.now() });
      return;
    }
    this.#held.push({ line, at: Date.now() });
    this.#heldBytes += line.length;
    const wasNull = this.#provider === null;
    this.#provider ??= this.#printedBy.hear(line);
    if (this.#provider !== null) {
      this.#parser ??= this.#provider.recorded?.(this.#file)?.open({ path: this.#file, bytes: 0 }) ?? null;
      // Output without a thread is nobody's.
      if ((wasNull ? this.#held : this.#held.slice(-1)).some((heard) => this.#names(heard))) this.#settle(this.#provider);
    }
    if (this.#isDecided) return;
    if (this.#printedBy.isHopeless || this.#heldBytes > MAX_HELD) this.#settle(this.#fallback);
  }

  /** Null: it is over, and nobody knows how. */
  ended(end: RunEnded | null): void {
    if (!this.#isDecided) this.#settle(this.#fallback);
    if (end !== null) this.#recorder?.note(endedNote(end));
    this.#recorder?.close();
    this.#found.resolve(null);
  }

  #settle(provider: Provider | null): void {
    this.#isDecided = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const listed = this.#recorder;
    const held = this.#held;
    this.#held = [];
    this.#provider = provider;
    if (provider === null || (listed !== null && provider === unknownCommand)) return;
    this.#open(provider);
    if (provider === unknownCommand) {
      this.#found.resolve(threadKey(provider.name, this.#name));
      return;
    }
    this.#parser ??= provider.recorded?.(this.#file)?.open({ path: this.#file, bytes: 0 }) ?? null;
    for (const { line, at } of held) this.#recorder?.line(line, at);
    if (this.#read === 0) for (const heard of held) this.#names(heard);
    // It turned out to be an agent: what was listed meanwhile is the same run.
    if (listed !== null) {
      listed.close();
      rmSync(listed.path, { force: true });
    }
  }

  #listAsCommand(): void {
    if (this.#isDecided || this.#recorder !== null) return;
    this.#open(unknownCommand);
  }

  #pathOf = (provider: Provider) => join(recordingsRoot(this.#env, provider.name), this.#file);

  #open(provider: Provider): void {
    this.#recorder = new Recorder(this.#pathOf(provider));
    if (this.#began !== null) this.#recorder.note(beganNote(this.#began.note), this.#began.at);
  }

  /** Reads along until a line names the thread. */
  #names({ line, at }: Heard): boolean {
    if (this.#parser === null) return false;
    this.#read += 1;
    const [first] = this.#parser.push(Buffer.from(recordedLine(line, at)), this.#read).observations;
    if (first === undefined) return false;
    this.#found.resolve(threadOf(first.speaker));
    this.#parser = null;
    return true;
  }
}
