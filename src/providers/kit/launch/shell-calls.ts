import { type CallKey, threadKey } from "../../../core/facts/ids.ts";
import { type Launch, OWN_FOLDER, type ShellCalled, type ShellReturned } from "../../../core/facts/observation.ts";
import type { FindingsOf } from "../../../core/ports/findings.ts";
import { asList, asNonBlank, asObject, asText } from "../../../core/tools/json.ts";
import { launchesIn } from "./launches.ts";
import { idsIn, readable } from "./output.ts";

interface OpenCall {
  readonly call: CallKey;
  readonly at: number | null;
  readonly folders: readonly string[] | null;
  /** The products that it starts; empty for a script. */
  readonly providers: readonly string[];
}

export type ShellMemory = readonly (readonly [string, OpenCall])[];

/** Maximum length of a recorded command: one that names a product, and one that only runs a script. */
const COMMAND_CHARS = 400;
const SCRIPT_COMMAND_CHARS = 120;
/** Maximum length of the recorded output of the same. */
const OUTPUT_CHARS = 1_500;
const SCRIPT_OUTPUT_CHARS = 500;
/** A script that ends sooner has started no agent, so its output is not recorded. */
const SCRIPT_MS = 150;
const MAX_OPEN_CALLS = 200;

/** How a shell call ended. */
export interface ShellResult {
  readonly text: string;
  readonly at: number | null;
  /** The command continues in the background. */
  readonly continues?: boolean;
}

/**
 * States shell calls that may start products, and their results. Other commands are ruled out by a search in their text,
 * and are not recorded.
 */
export class ShellCalls {
  readonly #open: Map<string, OpenCall>;

  constructor(memory?: ShellMemory) {
    this.#open = new Map(memory);
  }

  save(): ShellMemory {
    return [...this.#open];
  }

  /** Whether a call may still return. */
  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  /** `background`: the tool itself returns before the command ends. */
  called(
    out: FindingsOf,
    call: CallKey,
    command: string | null,
    cwd: string | null,
    at: number | null,
    background = false,
  ): void {
    if (command === null) return;
    const found = launchesIn(command, cwd ?? OWN_FOLDER);
    const { launches, folders } = found;
    const isScript = launches.length === 0;
    if (isScript && !found.wraps) return;
    if (this.#open.size >= MAX_OPEN_CALLS) this.#open.delete(this.#open.keys().next().value ?? "");
    this.#open.set(call, {
      call,
      at,
      folders,
      providers: [...new Set(launches.map(({ provider }) => provider))],
    });
    const fact: ShellCalled = {
      type: "shell-called",
      call,
      command: command.slice(0, isScript ? SCRIPT_COMMAND_CHARS : COMMAND_CHARS),
      folders,
      launches: launches.map(
        ({ provider, prompts, open, id, times, background: isDetached, headless }): Launch => ({
          provider,
          prompts,
          open,
          thread: id === null ? null : threadKey(provider, id),
          times,
          background: background || isDetached,
          headless,
        }),
      ),
      ...(background || found.background ? { background: true as const } : {}),
      ...(found.delayed ? { delayed: true as const } : {}),
    };
    out.addAt(at, fact);
  }

  returned(out: FindingsOf, call: CallKey, { text, at, continues = false }: ShellResult): void {
    const open = this.#open.get(call);
    if (open === undefined) return;
    this.#open.delete(call);
    const isScript = open.providers.length === 0;
    const fact: ShellReturned = {
      type: "shell-returned",
      call,
      calledAt: open.at,
      folders: isScript ? null : open.folders,
      printed: isScript ? [] : idsIn(text).flatMap((id) => open.providers.map((provider) => threadKey(provider, id))),
      output: isScript && isQuick(open, at) ? "" : readable(text, isScript ? SCRIPT_OUTPUT_CHARS : OUTPUT_CHARS),
      ...(continues ? { continues: true as const } : {}),
    };
    out.addAt(at, fact);
  }
}

const isQuick = (open: OpenCall, at: number | null) => at !== null && open.at !== null && at - open.at < SCRIPT_MS;

/** The command in the input of a shell tool: a text, or the words of a command line. */
export function commandIn(input: unknown, ...fields: readonly string[]): string | null {
  const json = asObject(input);
  for (const field of fields) {
    const value = json?.[field];
    const text = asNonBlank(value);
    if (text !== null) return text;
    const words = asList(value).map((word) => asText(word) ?? "");
    // `bash -lc <script>`
    if (words.length > 0) return /^-[a-z]*c$/.test(words.at(-2) ?? "") ? (words.at(-1) ?? "") : words.join(" ");
  }
  return null;
}
