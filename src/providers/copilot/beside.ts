import { FindingsOf } from "../../core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import { decodeText } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import * as key from "./keys.ts";

/** A small file next to the events, read as a whole. */
class SideFile implements Parser {
  readonly #session: string;
  readonly #file: SourceFile;
  readonly #read: (text: string, out: FindingsOf) => void;

  constructor(session: string, file: SourceFile, read: (text: string, out: FindingsOf) => void) {
    this.#session = session;
    this.#file = file;
    this.#read = read;
  }

  push(record: Uint8Array, line: number): Findings {
    const { text, isUtf8 } = decodeText(record);
    const out = new FindingsOf({ path: this.#file.path, line, at: null, speaker: key.thread(this.#session), keys: [] });
    if (!isUtf8) out.problem("text-not-utf8", `${record.length} bytes`);
    this.#read(text, out);
    return out;
  }

  events(): readonly EventDraft[] {
    return [];
  }

  save() {
    return null;
  }
}

/** `workspace.yaml`: a few plain lines. The name of the session is its first prompt until the user sets one. */
export function workspace(session: string, file: SourceFile): Parser {
  return new SideFile(session, file, (text, out) => {
    const value = (name: string) => {
      const [, written] = new RegExp(`^${name}: +(.+?) *$`, "m").exec(text) ?? [];
      if (written === undefined || /^[|>]/.test(written)) return null;
      const [, quoted] = /^'(.*)'$/.exec(written) ?? [];
      return quoted === undefined ? written.replace(/^"(.*)"$/, "$1") : quoted.replaceAll("''", "'");
    };
    if (value("id") === null) return out.problem("record-malformed", "no id");
    const title = value("user_named") === "true" ? value("name") : null;
    if (title !== null) out.add({ type: "thread-titled", of: key.thread(session), title, rank: 0 });
    const branch = value("branch");
    if (branch !== null) out.add({ type: "agent-described", agent: key.thread(session), branch });
  });
}

/**
 * `inuse.<pid>.lock`: a process runs the session. Removed on a clean exit, left behind by a crash; its time
 * distinguishes a reused pid.
 */
export function processMark(session: string, pid: number, file: SourceFile): Parser {
  return new SideFile(session, file, (_, out) => {
    const process = { pid, birth: null, domain: null, startedAt: file.bornMs ?? null };
    if (file.isForeign !== true)
      out.add({ type: "process-seen", thread: key.thread(session), process, waitingFor: null });
  });
}
