import type { FindingsOf } from "../../core/findings.ts";
import type { AgentKey } from "../../core/ids.ts";
import { asCount, asText, asTime, asWords, type JsonObject } from "../../core/json.ts";
import { AT_WORK, type LiveReader, turnEnded } from "../../core/live-stream.ts";
import { attributesOf, itemsIn, nanoTime } from "../../core/otlp.ts";
import * as key from "./keys.ts";

/** What its own OpenTelemetry calls the product. */
export const SERVICE = "claude-code";

/** Calls that agents made; what the product asks for on its own behalf (titles, summaries) has other names. */
const BY_AGENTS = /^(sdk|cli|repl|agent[.:]|main)/;

/**
 * Claude Code's own OpenTelemetry (since 2.1.139 with `agent_id`): spans and logs of every model call, with exact tokens, and of agents that completed.
 * A call is known by its request, an agent by its id. Texts are left out unless the user wants them in there.
 */
export class ClaudeTelemetry implements LiveReader {
  readonly #met: Set<string>;

  constructor(saved?: unknown) {
    this.#met = new Set(saved as readonly string[] | undefined);
  }

  save = () => [...this.#met];

  threadIn(said: JsonObject): AgentKey | null {
    for (const { item } of itemsIn(said)) {
      const session = asWords(attributesOf(item)["session.id"]);
      if (session !== null) return key.thread(session);
    }
    return null;
  }

  timeIn = () => null;
  events = () => [];

  read(out: FindingsOf, said: JsonObject, _: AgentKey, arrived: number) {
    for (const { item, resource } of itemsIn(said)) {
      const told = attributesOf(item);
      const session = asWords(told["session.id"]);
      if (session === null) continue;
      const agent = asWords(told.agent_id);
      const speaker = agent === null ? key.thread(session) : key.agent(session, agent);
      const at = asTime(told["event.timestamp"]) ?? nanoTime(item.startTimeUnixNano) ?? nanoTime(item.timeUnixNano) ?? arrived;
      const part = out.part({ speaker, at });
      const name = asText(item.name) ?? `claude_code.${asText(told["event.name"])}`;
      if (isWork(name, told)) this.#meet(part, told, session, agent, asWords(resource["service.version"]));
      readItem(part, name, item, told, session, speaker);
    }
  }

  /** Says once of everybody who it is. */
  #meet(out: FindingsOf, told: JsonObject, session: string, agent: string | null, productVersion: string | null) {
    const name = `${session}/${agent ?? ""}`;
    if (this.#met.has(name)) return;
    this.#met.add(name);
    out.add(AT_WORK);
    const thread = key.thread(session);
    if (agent === null) return out.add({ type: "agent-described", agent: thread, ...(productVersion === null ? {} : { productVersion }) });
    const child = key.agent(session, agent);
    const type = asWords(told["agent.name"]) ?? asWords(told.agent_type);
    out.add({ type: "agent-described", agent: child, ...(type === null ? {} : { agentType: type }) });
    const parent = asWords(told.parent_agent_id);
    const says = parent === null ? "its telemetry names no parent agent" : `its telemetry names agent ${parent} as its parent`;
    const rule = "telemetry.parent_agent_id";
    out.add({ type: "parent-named", child, parent: parent === null ? thread : key.agent(session, parent), rule, source: "protocol", confidence: 1, says });
  }
}

const WORK = new Set(["claude_code.llm_request", "claude_code.api_request", "claude_code.tool", "claude_code.tool_result", "claude_code.subagent_completed"]);

/** A session that only began is none yet. */
const isWork = (name: string, told: JsonObject) => WORK.has(name) && isByAgents(told);
const isByAgents = (told: JsonObject) => BY_AGENTS.test(asText(told.query_source) ?? asText(told.query_source_safe) ?? "main");

function readItem(out: FindingsOf, name: string, item: JsonObject, told: JsonObject, session: string, speaker: AgentKey) {
  switch (name) {
    case "claude_code.llm_request":
    case "claude_code.api_request":
      return readCall(out, told, session);
    case "claude_code.subagent_completed":
      return out.add(turnEnded(speaker, "completed", "its telemetry says that it completed"));
    case "claude_code.interaction":
      return out.addAt(nanoTime(item.endTimeUnixNano), turnEnded(speaker, "completed", "its telemetry says that its turn is over"));
    case "claude_code.user_prompt": {
      const prompt = asWords(told.prompt);
      if (prompt !== null && prompt !== "<REDACTED>") out.add({ type: "agent-described", agent: speaker, prompt });
    }
  }
}

/** Both a span and a log tell of the same call; only the log knows how long what was cached will be kept. */
function readCall(out: FindingsOf, told: JsonObject, session: string) {
  const request = asWords(told.request_id);
  if (request === null || told.success === false || !isByAgents(told)) return;
  out.add({
    type: "model-call",
    response: key.record(session, request),
    model: asText(told.model) ?? "",
    ...(told.speed === "fast" ? ({ fast: true } as const) : {}),
    tokens: {
      inputTokens: asCount(told.input_tokens),
      outputTokens: asCount(told.output_tokens),
      reasoningTokens: 0,
      cacheReadTokens: asCount(told.cache_read_tokens),
      cacheWriteTokens: asCount(told.cache_creation_tokens),
      cacheWrite1hTokens: asCount(told.cache_creation_1h_tokens),
    },
    chars: 0,
    ended: true,
  });
}
