import { partsOf } from "../../core/facts/ids.ts";
import type { RequestRow, TailPart } from "../../core/facts/traffic.ts";
import type { Caller, Dialect, Interpreter, ToolCall } from "../../core/ports/dialect.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asObject, type JsonObject, parseJson } from "../../core/tools/json.ts";
import { Collab } from "./collab.ts";
import * as key from "./keys.ts";
import { type Mail, note } from "./mail.ts";
import { readable } from "./rows.ts";

/** Codex's requests to the Responses API: docs/formats/codex.md, "API traffic". */
export const wire: Dialect = {
  vendor: "openai",
  identify(request): Caller | null {
    if (!isCodex(request)) return null;
    const { headers } = request;
    const turn = turnOf(request);
    // Up to 0.121 only the thread's own id is sent.
    const id = headers["thread-id"] ?? asNonBlank(turn?.thread_id) ?? headers.conversation_id ?? headers.session_id;
    const root = id ?? cacheKey(request);
    if (request.api !== "responses" || root == null) return null;
    const above = headers["x-codex-parent-thread-id"] ?? asNonBlank(turn?.parent_thread_id);
    const version = /^codex[\w-]*\/([\w.-]+)/.exec(headers["user-agent"] ?? "")?.[1] ?? null;
    return {
      session: headers["session-id"] ?? asNonBlank(turn?.session_id) ?? root,
      thread: key.thread(root),
      agent: id === undefined ? null : key.thread(id),
      parent: above == null ? null : key.thread(above),
      rule: "x-codex-parent-thread-id",
      kind: above == null ? null : "subagent",
      name: null,
      path: asNonBlank(turn?.agent_name) ?? mailIn(request.tail)?.recipient ?? null,
      agentType: null,
      isAgent: above != null || headers["x-openai-subagent"] !== undefined,
      version,
      cwd: Object.keys(asObject(turn?.workspaces) ?? {})[0] ?? null,
      tag: headers["x-openai-subagent"] === "compact" ? "compaction" : null,
      ...(isBefore153(version) ? { hasNoResponseIds: true as const } : {}),
    };
  },
  // The first texts describe the machine.
  prompt: ({ tail }) => mailIn(tail)?.text ?? readable(tail.flatMap(({ texts }) => texts).at(-1)),
  open: (caller, agent, saved) => new CodexInterpreter(partsOf(agent).thread, caller.path ?? "/root", saved),
  response: (_, id) => key.response(id),
  unnamed: (_, response) => key.thread(response),
  namedIn: () => null,
  matches({ thread, parent, path }, prompt) {
    const above = partsOf(parent ?? thread).thread;
    return [
      ...(path === null || parent === null ? [] : [key.pathMatch(above, path)]),
      ...(prompt === null ? [] : [key.promptMatch(above, prompt)]),
    ];
  },
};

/** Since 0.153 rollouts name every response. */
function isBefore153(version: string | null): boolean {
  const [major = 0, minor = 0] = (version ?? "0.0").split(".").map(Number);
  return version === null || (major === 0 && minor < 153);
}

/** The task from another agent. */
function mailIn(tail: readonly TailPart[]): Mail | null {
  const letter = note(parseJson(tail.flatMap(({ texts }) => texts).at(-1) ?? "")?.value);
  return letter?.is === "task" ? letter : null;
}

/** In a header, and since 0.14x in the body as well. */
function turnOf({ headers, rest }: RequestRow): JsonObject | null {
  const text =
    headers["x-codex-turn-metadata"] ?? asNonBlank(asObject(rest.client_metadata)?.["x-codex-turn-metadata"]);
  return asObject(parseJson(text ?? "")?.value);
}

/** The id headers are not unique to Codex: Pi sends `session_id`, too. Every version also identifies itself. */
function isCodex({ headers, rest }: RequestRow): boolean {
  const named = [headers["user-agent"], headers.originator].some((name) => /codex/i.test(name ?? ""));
  return (
    named ||
    [...Object.keys(headers), ...Object.keys(asObject(rest.client_metadata) ?? {})].some((name) =>
      name.startsWith("x-codex-"),
    )
  );
}

/** The root thread's id, in the requests of all its agents. */
const cacheKey = ({ rest }: RequestRow) => asNonBlank(rest.prompt_cache_key);

/** The end of another agent's turn, in a message from it. */
const FINAL = /^Message Type: FINAL_ANSWER\nTask name: [^\n]*\nSender: ([^\n]+)\nPayload:\n*([\s\S]*)$/;

class CodexInterpreter implements Interpreter {
  readonly #thread: string;
  readonly #path: string;
  readonly #collab: Collab;

  constructor(thread: string, path: string, saved?: unknown) {
    this.#thread = thread;
    this.#path = path;
    this.#collab = new Collab(thread, saved);
  }

  toolResults(out: FindingsOf, tail: readonly TailPart[]): void {
    for (const { texts, results } of tail) {
      for (const { id, text } of results) this.#collab.toolResult(out, id, text);
      for (const text of texts) {
        const letter = note(parseJson(text)?.value);
        if (letter === null) this.#collab.notified(out, text);
        else this.#collab.mail(out, letter);
        const [, author, result] = FINAL.exec(text) ?? [];
        if (author !== undefined)
          this.#collab.mail(out, { author, recipient: this.#path, is: "result", text: result ?? null });
      }
    }
  }

  called(out: FindingsOf, { block }: ToolCall): void {
    this.#collab.called(out, block, this.#path);
  }

  key = (id: string) => key.call(this.#thread, id);
  save = () => this.#collab.save();
}
