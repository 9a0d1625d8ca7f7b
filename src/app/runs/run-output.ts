import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type AgentKey, threadKey, threadOf } from "../../core/facts/ids.ts";
import type { Parser, Provider } from "../../core/ports/provider.ts";
import { recordedAlready, recordedLine } from "../../core/ports/recording.ts";
import { beganNote, endedNote, type RunBegan, type RunEnded } from "../../core/ports/run-note.ts";
import { PrintedBy } from "../../providers/kit/printed.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { run as unknownCommand } from "../../providers/run/index.ts";
import { endOfRecording, Recorder } from "../../transports/recorder.ts";
import { type Env, recordingsRoot } from "../home.ts";

interface HeldLine {
  readonly line: string;
  readonly at: number;
}

/** A command without output for this long is recorded as an unknown command. */
const SILENCE_MS = 5_000;
/** Maximum output held in memory until the product is recognised. */
const MAX_HELD = 4 << 20;

/**
 * Records the output of a run for the product that its lines indicate, and holds lines until then. If they never do,
 * the run is recorded for the product that the command line indicates, or as an unknown command with its start and end.
 */
export class RunOutput {
  readonly #env: Env;
  readonly #file: string;
  readonly #name: string;
  /** Null if nothing is recorded unless the lines indicate a product, because the product writes its own transcript. */
  readonly #fallback: Provider | null;
  readonly #printedBy: PrintedBy;
  readonly #found = Promise.withResolvers<AgentKey | null>();
  #provider: Provider | null = null;
  #parser: Parser | null = null;
  #recorder: Recorder | null = null;
  #began: { readonly note: RunBegan; readonly at: number } | null = null;
  #held: HeldLine[] = [];
  #heldBytes = 0;
  #read = 0;
  #isDecided = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(env: Env, name: string, known: Provider, fallback: Provider | null) {
    this.#env = env;
    this.#name = name;
    this.#file = `run/${name}.jsonl`;
    this.#fallback = fallback;
    // If several products print the same lines, the command decides.
    this.#printedBy = new PrintedBy([known, ...PROVIDERS.filter((provider) => provider !== known)]);
  }

  /** The thread of the run, once known; null if it never becomes known. */
  get thread(): Promise<AgentKey | null> {
    return this.#found.promise;
  }

  /**
   * `isKnown`: the output is not read. `printsEvents`: events are printed, so nothing is listed that may turn out to be
   * something else.
   */
  began(
    note: RunBegan,
    { isKnown, printsEvents }: { readonly isKnown: boolean; readonly printsEvents: boolean },
  ): void {
    this.#began = { note, at: Date.now() };
    if (this.#isDecided) this.#recorder?.note(beganNote(note));
    else if (isKnown) this.#settle(this.#fallback);
    else if (!printsEvents && this.#fallback === unknownCommand)
      this.#timer = setTimeout(() => this.#listAsCommand(), SILENCE_MS).unref();
  }

  /** Continues the recording of a process that was killed, if it had begun one. */
  resume(note: RunBegan): void {
    const provider = PROVIDERS.find((one) => existsSync(this.#pathOf(one)) && statSync(this.#pathOf(one)).size > 0);
    if (provider !== undefined) this.#recorder = new Recorder(this.#pathOf(provider));
    this.#isDecided = provider !== undefined && provider !== unknownCommand;
    if (this.#isDecided) this.#provider = provider ?? null;
    else this.began(note, { isKnown: false, printsEvents: false });
  }

  /** How many of these lines the killed process had already recorded. */
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
    this.#provider ??= this.#printedBy.read(line);
    if (this.#provider !== null) {
      this.#parser ??= this.#provider.recorded?.(this.#file)?.open({ path: this.#file, bytes: 0 }) ?? null;
      // Output is recorded only once it names a thread.
      if ((wasNull ? this.#held : this.#held.slice(-1)).some((line) => this.#names(line))) this.#settle(this.#provider);
    }
    if (this.#isDecided) return;
    if (this.#printedBy.isUndecidable || this.#heldBytes > MAX_HELD) this.#settle(this.#fallback);
  }

  /** Null: it has ended, and its exit code is unknown. */
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
    if (this.#read === 0) for (const line of held) this.#names(line);
    // It turned out to be an agent: the entry listed before is the same run.
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

  /** Parses lines until one names the thread. */
  #names({ line, at }: HeldLine): boolean {
    if (this.#parser === null) return false;
    this.#read += 1;
    const [first] = this.#parser.push(Buffer.from(recordedLine(line, at)), this.#read).observations;
    if (first === undefined) return false;
    this.#found.resolve(threadOf(first.speaker));
    this.#parser = null;
    return true;
  }
}
