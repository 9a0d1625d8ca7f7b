import { NO_TOKENS } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { DatabaseSchema, SourceFile } from "../../core/ports/provider.ts";
import {
  asAmount,
  asCount,
  asList,
  asNonBlank,
  asObject,
  asText,
  type JsonObject,
  parseJson,
} from "../../core/tools/json.ts";
import { planOf, type ReadMessage, SessionRows, type SessionTables, type StatedUsage } from "../kit/session-tables.ts";
import { NAME } from "./manifest.ts";

const TABLES: SessionTables = {
  sessions: {
    required: [
      "id",
      "parent_session_id",
      "title",
      "prompt_tokens",
      "completion_tokens",
      "cost",
      "created_at",
      "updated_at",
    ],
    optional: [],
  },
  messages: {
    required: ["id", "session_id", "role", "created_at", "updated_at"],
    optional: ["model", "provider", "is_summary_message"],
  },
  // The product asks for the title of a session in a session of its own.
  isRead: "s.id NOT LIKE 'title-%'",
  computed: {
    model:
      "(SELECT m.model FROM messages m WHERE m.session_id = s.id AND m.role = 'assistant' ORDER BY m.rowid DESC LIMIT 1)",
    children_cost:
      "(SELECT coalesce(sum(c.cost), 0) FROM sessions c WHERE c.parent_session_id = s.id AND c.id LIKE '%$$%')",
  },
  content: "parts",
  changed: "updated_at",
};

export const planFor = (schema: DatabaseSchema) => planOf(TABLES, schema);

/** Both tools run an agent with a session of its own. */
const SPAWN_TOOLS = new Set(["agent", "agentic_fetch"]);
/** `<message>$$<call>`: the message and the call that spawned it. */
const CHILD = /^(.+)\$\$(.+)$/;
const MORE_CALLS = "Crush records only the tokens of the last model call; those of earlier ones are unknown";

/** A session of `crush.db`, from the sources of Crush 0.96: docs/formats/crush.md. */
export class CrushSession extends SessionRows {
  constructor(file: SourceFile, saved?: unknown) {
    super(NAME, file, saved);
  }

  protected session(out: FindingsOf, id: string, json: JsonObject): StatedUsage {
    const agent = this.key.session(id);
    const [parent, title] = [asNonBlank(json.parent_session_id), asNonBlank(json.title)];
    const cwd = /^(.*)\/\.crush\/[^/]+$/.exec(this.file.path)?.[1] ?? null;
    const created = secondsIn(json.created_at);
    out.addAt(created, {
      type: "agent-described",
      agent,
      kind: parent === null ? "main" : "subagent",
      ...(cwd === null ? {} : { cwd }),
      ...(asCount(json.calls) > 1 ? { warning: MORE_CALLS } : {}),
    });
    if (parent === null) this.began(out, agent, created, title, cwd);
    else this.#parent(out, id, parent);
    // The cost of a session includes that of its children.
    const cost = (asAmount(json.cost) ?? 0) - (asAmount(json.children_cost) ?? 0);
    return {
      at: secondsIn(json.updated_at),
      tokens: { ...NO_TOKENS, inputTokens: asCount(json.prompt_tokens), outputTokens: asCount(json.completion_tokens) },
      costUsd: Math.max(0, cost),
      model: asNonBlank(json.model),
    };
  }

  #parent(out: FindingsOf, id: string, parent: string) {
    const [, , call] = CHILD.exec(id) ?? [];
    const child = this.key.session(id);
    out.add({
      type: "parent-named",
      child,
      parent: this.key.session(parent),
      rule: "sessions.parent_session_id",
      source: "protocol",
      confidence: 1,
      says: `its session names ${parent} as its parent`,
    });
    if (call !== undefined)
      out.add({
        type: "call-spawned",
        call: this.key.call(parent, call),
        child,
        rule: "sessions.id",
        source: "protocol",
        says: `its id names call ${call}`,
      });
  }

  protected message(json: JsonObject): ReadMessage | null {
    const [id, role] = [asNonBlank(json.id), asNonBlank(json.role)];
    if (id === null || role === null || !Array.isArray(json.content)) return null;
    const parts = asList(json.content).map(asObject);
    const of = (type: string): readonly JsonObject[] =>
      parts.flatMap((part) => (part?.type === type ? [asObject(part.data)] : [])).filter((data) => data !== null);
    const [finish] = of("finish");
    const reason = asNonBlank(finish?.reason);
    const calls = of("tool_call").flatMap((data) => {
      const [call, name] = [asNonBlank(data.id), asNonBlank(data.name)];
      const input = asObject(parseJson(asText(data.input) ?? "")?.value) ?? {};
      return call === null || name === null ? [] : [{ id: call, name, input }];
    });
    const error = [asNonBlank(finish?.message), asNonBlank(finish?.details)].filter((text) => text !== null).join(": ");
    return {
      id,
      at: secondsIn(json.created_at),
      role: role === "assistant" ? "assistant" : role === "user" || role === "tool" ? "user" : "other",
      state: role === "assistant" ? stateAfter(reason) : role === "system" ? null : "open",
      isCertain: true,
      text: of("text")
        .flatMap((data) => asText(data.text) ?? [])
        .join("\n"),
      thoughts: of("reasoning").flatMap((data) => asNonBlank(data.thinking) ?? []),
      error: FAILED.has(reason ?? "") ? error || reason : null,
      model: asNonBlank(json.model),
      vendor: asNonBlank(json.provider),
      calls,
      results: of("tool_result").flatMap((data) => {
        const call = asNonBlank(data.tool_call_id);
        const [name, text] = [asNonBlank(data.name), asText(data.content) ?? ""];
        return call === null ? [] : [{ call, name, isError: data.is_error === true, text }];
      }),
    };
  }

  protected spawns(out: FindingsOf, session: string, { id, calls, results }: ReadMessage) {
    for (const call of calls.filter(({ name }) => SPAWN_TOOLS.has(name)))
      out.add({
        type: "spawn-called",
        call: this.key.call(session, call.id),
        tool: call.name,
        makes: "one",
        prompt: asNonBlank(call.input.prompt),
        agentType: call.name === "agent" ? "task" : "fetch",
        description: null,
        name: null,
        offers: [],
        unseen: { id: `${id}$$${call.id}`, kind: "subagent" },
      });
    for (const { call, name, isError, text } of results)
      if (SPAWN_TOOLS.has(name ?? "")) {
        const of = { call: this.key.call(session, call) };
        if (isError) this.ended(out, of, "errored", `its call failed: ${text.split("\n")[0]}`, null);
        else this.ended(out, of, "completed", "its call returned its result", text);
      }
  }
}

/** Responses that ended with an error; a refusal of the model is one. */
const FAILED = new Set(["error", "content_filter"]);

function stateAfter(reason: string | null): ReadMessage["state"] {
  if (reason === "end_turn" || reason === "max_tokens") return "answered";
  if (reason === "canceled") return "interrupted";
  return FAILED.has(reason ?? "") ? "failed" : "open";
}

/** Epoch milliseconds. The schema says milliseconds, but the program writes seconds. */
function secondsIn(value: unknown): number | null {
  return typeof value === "number" && value > 0 ? (value < 1e11 ? 1_000 * value : value) : null;
}
