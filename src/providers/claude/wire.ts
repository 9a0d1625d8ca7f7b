import { type AgentKey, partsOf } from "../../core/facts/ids.ts";
import type { RequestRow, RequestTag, TailPart } from "../../core/facts/traffic.ts";
import type { Caller, Dialect, Interpreter, ToolCall } from "../../core/ports/dialect.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asObject, parseJson } from "../../core/tools/json.ts";
import * as key from "./keys.ts";
import { readUserText } from "./prompt.ts";
import { readRow } from "./rows.ts";
import { readNotifications, readToolResult, spawnCalled } from "./spawns.ts";

/** Claude Code's API requests: docs/formats/claude.md, "API traffic". */
export const wire: Dialect = {
  vendor: "anthropic",
  identify(request): Caller | null {
    const { headers } = request;
    const session = headers["x-claude-code-session-id"] ?? (isClaude(request) ? sessionIn(request) : null);
    if (session === undefined || session === null) return null;
    const [thread, id, above] = [
      key.thread(session),
      headers["x-claude-code-agent-id"],
      headers["x-claude-code-parent-agent-id"],
    ];
    const mate = id?.includes("@") === true;
    return {
      session,
      thread,
      agent: id === undefined ? null : key.agent(session, id),
      parent: id === undefined ? null : above === undefined ? thread : key.agent(session, above),
      rule: above === undefined ? "x-claude-code-agent-id" : "x-claude-code-parent-agent-id",
      kind: mate ? "teammate" : isWorkflow(request) ? "workflow" : null,
      name: mate ? (id?.split("@", 1)[0] ?? null) : null,
      path: null,
      agentType: headers["x-claude-code-agent-type"] ?? null,
      // Since 2.1.175.
      isAgent: request.opening.includes("cc_is_subagent=true"),
      version: /^claude-cli\/([\w.-]+)/.exec(headers["user-agent"] ?? "")?.[1] ?? null,
      cwd: cwdIn(request),
      tag: id === undefined ? tagOf(request) : null,
    };
  },
  prompt({ first, tail, chain }) {
    // Earlier texts are context, or the history of a forked agent.
    const text = readUserText((chain.length > 1 ? tail.at(-1)?.texts.at(-1) : first.at(-1)) ?? "");
    return text.is === "prompt" ? asNonBlank(text.text.replace(FORK, "")) : null;
  },
  open: (caller, _, saved) => new ClaudeInterpreter(sessionOf(caller.thread), saved),
  response: (thread, id) => key.record(sessionOf(thread), id),
  unnamed: (thread, response) => key.inlineAgent(sessionOf(thread), response),
  namedIn(text, thread) {
    const id = /(?:^|\n)agentId: ([A-Za-z0-9_-]+)/.exec(text)?.[1];
    return id === undefined ? null : key.agent(sessionOf(thread), id);
  },
  matches: ({ thread }, prompt) => (prompt === null ? [] : [key.promptMatch(sessionOf(thread), prompt)]),
};

const FORK = /^<fork-boilerplate>[\s\S]*<\/fork-boilerplate>\s*Your directive: /;

const sessionOf = (thread: AgentKey) => partsOf(thread).thread;

/** Other clients set `metadata.user_id`, too. */
const isClaude = ({ headers }: RequestRow) =>
  /^claude-(cli|code)/.test(headers["user-agent"] ?? "") || headers["x-app"] !== undefined;

/** Up to 2.1.70 `user_<hash>_account_<uuid>_session_<uuid>`, then JSON. */
function sessionIn({ rest }: RequestRow): string | null {
  const user = asNonBlank(asObject(rest.metadata)?.user_id);
  if (user === null) return null;
  return (
    asNonBlank(asObject(parseJson(user)?.value)?.session_id) ?? /_session_([0-9a-f-]{36})$/.exec(user)?.[1] ?? null
  );
}

const isWorkflow = ({ headers, first }: RequestRow) =>
  headers["x-claude-code-request-class"] === "workflow" || first.at(-1)?.startsWith("[Workflow harness") === true;

const cwdIn = ({ opening, first }: RequestRow) =>
  /(?:Primary working directory|Working directory): ([^\n]+)/.exec([opening, ...first].join("\n"))?.[1]?.trim() ?? null;

/** Recognises internal model calls, by a header if present (CLAUDE_CODE_GATEWAY_HINT_HEADERS). */
function tagOf(request: RequestRow): RequestTag | null {
  const stated = request.headers["x-claude-code-request-class"];
  if (stated === "compaction" || stated === "auxiliary") return stated;
  const last = request.tail.at(-1)?.texts.at(-1) ?? "";
  if (/^Your task is to create a detailed summary of (?:the|this) conversation/.test(last.trimStart()))
    return "compaction";
  if (request.first.length === 1 && request.chain.length === 1 && last === "Warmup") return "warmup";
  if (request.offered > 0) return null;
  if (request.rest.max_tokens === 1 && /^\s*quota\s*$/.test(last)) return "quota";
  // Requests of agents have tools.
  return /\btitle\b/.test(request.opening) ? "title" : "auxiliary";
}

interface Memory {
  readonly spawns: readonly string[];
}

const NO_ROW = readRow({});

class ClaudeInterpreter implements Interpreter {
  readonly #session: string;
  readonly #spawns: Set<string>;

  constructor(session: string, saved?: unknown) {
    this.#session = session;
    this.#spawns = new Set((saved as Memory | undefined)?.spawns);
  }

  toolResults(out: FindingsOf, tail: readonly TailPart[]): void {
    for (const { texts, results } of tail) {
      for (const { id, isError, text } of results) {
        if (this.#spawns.delete(id))
          readToolResult(out, { is: "tool-result", id, isError, text }, NO_ROW, this.#session, "maybe");
      }
      // Before reminders are removed, because notifications are inside them.
      for (const text of texts) readNotifications(out, text, this.#session);
    }
  }

  called(out: FindingsOf, { id, name, input }: ToolCall): void {
    const spawn = spawnCalled({ is: "tool-use", id, name, input }, NO_ROW, this.#session);
    if (spawn !== null) {
      this.#spawns.add(id);
      out.add(spawn);
    }
    const to = name === "SendMessage" ? asNonBlank(input.to) : null;
    if (to !== null && /^a[0-9a-f]{6,}$/.test(to))
      out.add({
        type: "lifecycle",
        of: key.agent(this.#session, to),
        state: "revived",
        source: "parent_rollout",
        says: "a message from its parent revived it",
        result: null,
      });
  }

  key = (id: string) => key.call(this.#session, id);
  save = (): Memory => ({ spawns: [...this.#spawns] });
}
