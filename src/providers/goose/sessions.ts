import { NO_TOKENS } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { DatabaseSchema, SourceFile } from "../../core/ports/provider.ts";
import { asAmount, asCount, asList, asNonBlank, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import {
  columnIn,
  planOf,
  type ReadMessage,
  SessionRows,
  type SessionTables,
  type StatedUsage,
} from "../kit/session-tables.ts";
import { NAME } from "./manifest.ts";

const TABLES: SessionTables = {
  sessions: {
    required: ["id", "session_type", "working_dir", "created_at", "updated_at"],
    optional: [
      ...["name", "description", "provider_name", "model_config_json"],
      ...["accumulated_input_tokens", "accumulated_output_tokens", "accumulated_cost"],
    ],
  },
  messages: { required: ["id", "session_id", "role", "created_timestamp"], optional: ["message_id"] },
  // Internal work of the product.
  isRead: "s.session_type <> 'hidden'",
  computed: {},
  content: "content_json",
  // Messages are not changed; a rewritten conversation has new ones.
  changed: "id",
};

export const planFor = (schema: DatabaseSchema) => planOf(TABLES, schema);

/** The spawn tool; the name of its extension may precede it, as in `subagent__delegate`. */
const DELEGATE = /(?:^|__)delegate$/;

/** A session of `sessions.db`, from the sources of Goose: docs/formats/goose.md. */
export class GooseSession extends SessionRows {
  constructor(file: SourceFile, saved?: unknown) {
    super(NAME, file, saved);
  }

  protected session(out: FindingsOf, id: string, json: JsonObject): StatedUsage {
    const agent = this.key.session(id);
    const [cwd, created] = [asNonBlank(json.working_dir), timeIn(json.created_at)];
    const isChild = json.session_type === "sub_agent";
    out.addAt(created, {
      type: "agent-described",
      agent,
      // No column names its parent: until the result of the call does, it is a thread.
      ...(isChild ? {} : { kind: "main" as const }),
      ...(cwd === null ? {} : { cwd }),
    });
    const title = asNonBlank(json.name) ?? asNonBlank(json.description);
    if (!isChild) this.began(out, agent, created, title, cwd);
    return {
      at: timeIn(json.updated_at),
      tokens: {
        ...NO_TOKENS,
        inputTokens: asCount(json.accumulated_input_tokens),
        outputTokens: asCount(json.accumulated_output_tokens),
      },
      costUsd: asAmount(json.accumulated_cost),
      model: asNonBlank(asObject(columnIn(json.model_config_json))?.model_name),
    };
  }

  protected message(json: JsonObject): ReadMessage | null {
    const role = asNonBlank(json.role);
    if (typeof json.id !== "number" || role === null || !Array.isArray(json.content)) return null;
    const items = asList(json.content).map(asObject);
    const of = (type: string): readonly JsonObject[] =>
      items.filter((item) => item !== null).filter((item) => item.type === type);
    const calls = of("toolRequest").flatMap((item) => {
      const [id, call] = [asNonBlank(item.id), asObject(asObject(item.toolCall)?.value)];
      const name = asNonBlank(call?.name);
      return id === null || name === null ? [] : [{ id, name, input: asObject(call?.arguments) ?? {} }];
    });
    const isFinal = role === "assistant" && calls.length === 0;
    return {
      id: String(json.id),
      at: typeof json.created_timestamp === "number" ? 1_000 * json.created_timestamp : null,
      role: role === "assistant" || role === "user" ? role : "other",
      state: isFinal ? "answered" : "open",
      // How a response ended is not recorded.
      isCertain: !isFinal,
      text: of("text")
        .flatMap((item) => asText(item.text) ?? [])
        .join("\n"),
      thoughts: of("thinking").flatMap((item) => asNonBlank(item.thinking) ?? []),
      error: null,
      model: null,
      vendor: null,
      calls,
      results: of("toolResponse").flatMap((item) => {
        const id = asNonBlank(item.id);
        return id === null ? [] : [{ call: id, name: null, ...outcomeOf(item) }];
      }),
    };
  }

  protected spawns(out: FindingsOf, session: string, { calls, results }: ReadMessage, json: JsonObject) {
    for (const { id, name, input } of calls)
      if (DELEGATE.test(name))
        out.add({
          type: "spawn-called",
          call: this.key.call(session, id),
          tool: name,
          makes: "one",
          prompt: asNonBlank(input.instructions) ?? asNonBlank(input.source),
          agentType: asNonBlank(input.source),
          description: null,
          name: null,
          offers: [],
        });
    if (results.length === 0) return;
    const named = new Map(
      asList(json.content).flatMap((item) => {
        const [id, value] = [asNonBlank(asObject(item)?.id), asObject(asObject(asObject(item)?.toolResult)?.value)];
        const child = asNonBlank(asObject(value?._meta)?.subagent_session_id);
        return id === null || child === null ? [] : [[id, child] as const];
      }),
    );
    for (const { call, isError, text } of results) {
      const id = named.get(call);
      if (id === undefined) continue;
      const child = this.key.session(id);
      out.add({ type: "agent-described", agent: child, kind: "subagent" });
      out.add({
        type: "call-spawned",
        call: this.key.call(session, call),
        child,
        rule: "_meta.subagent_session_id",
        source: "parent_rollout",
        says: `the result of its call names session ${id}`,
      });
      // A successful result may only report a launch in the background; the agent's own session has its end.
      if (isError) this.ended(out, child, "errored", `its call failed: ${text.split("\n")[0]}`, null);
    }
  }
}

function outcomeOf(item: JsonObject): { readonly isError: boolean; readonly text: string } {
  const result = asObject(item.toolResult);
  const value = asObject(result?.value);
  const text = asList(value?.content)
    .flatMap((part) => asText(asObject(part)?.text) ?? [])
    .join("\n");
  return {
    isError: result?.status === "error" || value?.isError === true,
    text: text || (asText(result?.error) ?? ""),
  };
}

/** `2026-05-21 10:00:00`, in UTC. */
function timeIn(value: unknown): number | null {
  const text = asText(value);
  const at = text === null ? Number.NaN : Date.parse(`${text.trim().replace(" ", "T").replace(/Z?$/, "")}Z`);
  return Number.isNaN(at) ? null : at;
}
