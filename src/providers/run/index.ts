import { type AgentKey, type CallKey, threadKey } from "../../core/facts/ids.ts";
import type { Starter } from "../../core/facts/observation.ts";
import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import type { FileStream, Findings, Parser, Provider, SourceFile } from "../../core/ports/provider.ts";
import { readRecorded } from "../../core/ports/recording.ts";
import { beganIn, endedIn, type RunEnded } from "../../core/ports/run-note.ts";
import { asList, asNonBlank, asObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { AT_WORK } from "../kit/live-stream.ts";

const NAME = "run";

/** Wrapped commands of unknown products: only duration and exit code are known. */
export const run: Provider = {
  name: NAME,
  product: "a wrapped command",
  versions: null,
  docs: "docs/formats/run.md",
  vendor: null,
  folders: [],
  idForm: "the id of a run looks like 20261116T101857-3f9a2c1d",
  roots: () => [],
  stream: () => null,
  recorded(path): FileStream | null {
    if (/^starters\/[\d-]+\.jsonl$/.test(path)) return { shape: "lines", open: (file) => new StartersSeen(file) };
    const id = /^run\/([\w-]+)\.jsonl$/.exec(path)?.[1];
    return id === undefined ? null : { shape: "lines", open: (file) => new Run(id, file) };
  },
  isThreadId: (id) => /^\d{6,8}(T\d{0,6}(-[0-9a-f]{0,8})?)?$/i.test(id),
  isAgentId: () => false,
};

/** The starters of running threads, recorded by `app/live/starters.ts`. */
class StartersSeen implements Parser {
  readonly #file: SourceFile;

  constructor(file: SourceFile) {
    this.#file = file;
  }

  save = () => null;
  events = () => [];

  push(record: Uint8Array, line: number): Findings {
    const recorded = readRecorded(record);
    const seen = recorded !== null && "note" in recorded ? asObject(recorded.note.starter) : null;
    const thread = asNonBlank(seen?.thread) as AgentKey | null;
    if (recorded === null || thread === null)
      return problemAt(this.#file.path, line, "line-not-json", `${record.length} bytes`);
    const out = new FindingsOf({ path: this.#file.path, line, at: recorded.at, speaker: thread, keys: [] });
    const starters = asList(seen?.starters).flatMap((value): Starter[] => {
      const starter = asObject(value);
      const agent = asNonBlank(starter?.agent) as AgentKey | null;
      if (agent === null) return [];
      const [call, says] = [asNonBlank(starter?.call) as CallKey | null, asNonBlank(starter?.says) ?? ""];
      return [{ agent, exact: starter?.exact === true, call, says }];
    });
    out.add({ type: "starter-seen", thread, starters });
    return out;
  }
}

/** The recording of one command. */
class Run implements Parser {
  readonly #id: string;
  readonly #file: SourceFile;

  constructor(id: string, file: SourceFile) {
    this.#id = id;
    this.#file = file;
  }

  save(): null {
    return null;
  }

  push(record: Uint8Array, line: number): Findings {
    const recorded = readRecorded(record);
    if (recorded === null) return problemAt(this.#file.path, line, "line-not-json", `${record.length} bytes`);
    const thread = threadKey(NAME, this.#id);
    const out = new FindingsOf({ path: this.#file.path, line, at: recorded.at, speaker: thread, keys: [] });
    const note = "note" in recorded ? recorded.note : {};
    const [began, ended] = [beganIn(note), endedIn(note)];
    if (began !== null) {
      const prompt = began.command.join(" ");
      const file = { path: this.#file.path, bytes: this.#file.bytes, bornMs: null };
      out.add({
        type: "agent-described",
        agent: thread,
        kind: "external",
        file,
        prompt,
        ...(began.cwd === null ? {} : { cwd: began.cwd }),
      });
      out.add({ type: "process-seen", thread, process: began.process, waitingFor: null });
      out.add(AT_WORK);
    }
    if (ended !== null) out.add({ type: "lifecycle", of: thread, ...endOf(ended), source: "protocol", result: null });
    return out;
  }

  events(): readonly EventDraft[] {
    return [];
  }
}

function endOf({ code, signal }: RunEnded) {
  if (signal !== null) return { state: "shutdown", says: `killed by ${signal}` } as const;
  return code === 0
    ? ({ state: "completed", says: "exit code 0" } as const)
    : ({ state: "errored", says: `exit code ${code}` } as const);
}
