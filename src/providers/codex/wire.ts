import type { FindingsOf } from "../../core/findings.ts";
import { partsOf } from "../../core/ids.ts";
import { asObject, asWords, type JsonObject, parseJson } from "../../core/json.ts";
import type { AskedRow, Caller, Dialect, TailPart, ToolCall, Voice } from "../../core/traffic.ts";
import { Collab } from "./collab.ts";
import * as key from "./keys.ts";
import { readable } from "./rows.ts";

/** Codex's requests to the Responses API: docs/formats/codex.md, "On the wire". */
export const wire: Dialect = {
  vendor: "openai",
  namesAnswers: false,
  identify(asked): Caller | null {
    const { headers } = asked;
    const turn = turnOf(asked);
    // Up to 0.121 a thread's own id is all that is sent.
    const id = headers["thread-id"] ?? asWords(turn?.thread_id) ?? headers.conversation_id ?? headers.session_id;
    const root = id ?? cacheKey(asked);
    if (asked.api !== "responses" || root == null) return null;
    const above = headers["x-codex-parent-thread-id"] ?? asWords(turn?.parent_thread_id);
    return {
      session: headers["session-id"] ?? asWords(turn?.session_id) ?? root,
      thread: key.thread(root),
      agent: id === undefined ? null : key.thread(id),
      parent: above == null ? null : key.thread(above),
      rule: "x-codex-parent-thread-id",
      kind: above == null ? null : "subagent",
      name: null,
      path: asWords(turn?.agent_name),
      agentType: null,
      isAgent: above != null || headers["x-openai-subagent"] !== undefined,
      version: /^codex[\w-]*\/([\w.-]+)/.exec(headers["user-agent"] ?? "")?.[1] ?? null,
      cwd: Object.keys(asObject(turn?.workspaces) ?? {})[0] ?? null,
      tag: headers["x-openai-subagent"] === "compact" ? "compaction" : null,
    };
  },
  // What comes first is about the machine.
  prompt: ({ tail }) => readable(tail.flatMap(({ texts }) => texts).at(-1)),
  open: (caller, agent, saved) => new CodexVoice(partsOf(agent).thread, caller.path ?? "/root", saved),
  response: (_, id) => key.response(id),
  unnamed: (_, response) => key.thread(response),
  namedIn: () => null,
  matches({ thread, parent, path }, prompt) {
    const above = partsOf(parent ?? thread).thread;
    return [...(path === null || parent === null ? [] : [key.pathMatch(above, path)]), ...(prompt === null ? [] : [key.promptMatch(above, prompt)])];
  },
};

/** In a header, and since 0.14x in the body as well. */
function turnOf({ headers, rest }: AskedRow): JsonObject | null {
  const text = headers["x-codex-turn-metadata"] ?? asWords(asObject(rest.client_metadata)?.["x-codex-turn-metadata"]);
  return asObject(parseJson(text ?? "")?.value);
}

/** The root thread's id, in requests of all its agents. */
const cacheKey = ({ headers, rest }: AskedRow) => (/^codex/.test(headers["user-agent"] ?? headers.originator ?? "") ? asWords(rest.prompt_cache_key) : null);

/** How a turn of another agent ended, as it stands in a message from it. */
const FINAL = /^Message Type: FINAL_ANSWER\nTask name: [^\n]*\nSender: ([^\n]+)\nPayload:\n*([\s\S]*)$/;

class CodexVoice implements Voice {
  readonly #thread: string;
  readonly #path: string;
  readonly #collab: Collab;

  constructor(thread: string, path: string, saved?: unknown) {
    this.#thread = thread;
    this.#path = path;
    this.#collab = new Collab(thread, saved);
  }

  told(out: FindingsOf, tail: readonly TailPart[]): void {
    for (const { texts, results } of tail) {
      for (const { id, text } of results) this.#collab.answered(out, id, text);
      for (const text of texts) {
        this.#collab.notified(out, text);
        const [, author, answer] = FINAL.exec(text) ?? [];
        if (author !== undefined) this.#collab.told(out, { author, recipient: this.#path, is: "result", text: answer ?? null });
      }
    }
  }

  called(out: FindingsOf, { block }: ToolCall): void {
    this.#collab.called(out, block, this.#path);
  }

  key = (id: string) => key.call(this.#thread, id);
  save = () => this.#collab.save();
}

