import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asCount, asNonBlank, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import { AT_WORK, type LiveReader, turnEnded } from "../kit/live-stream.ts";
import { attributesOf, itemsIn, nanoTime } from "../kit/otlp.ts";
import * as key from "./keys.ts";

/** The service name in Claude Code's telemetry. */
export const SERVICE = "claude-code";

/** Query sources of agents; internal model calls (titles, summaries) have other names. */
const BY_AGENTS = /^(sdk|cli|repl|agent[.:]|main)/;

/**
 * Claude Code's OpenTelemetry data (since 2.1.139 with `agent_id`): spans and logs of every model call with exact
 * tokens, and of completed agents. A model call is identified by its request, an agent by its id. Texts are omitted
 * unless the user enables them.
 */
export class ClaudeTelemetry implements LiveReader {
  readonly #met: Set<string>;

  constructor(saved?: unknown) {
    this.#met = new Set(saved as readonly string[] | undefined);
  }

  save = () => [...this.#met];

  threadIn(batch: JsonObject): AgentKey | null {
    for (const { item } of itemsIn(batch)) {
      const session = asNonBlank(attributesOf(item)["session.id"]);
      if (session !== null) return key.thread(session);
    }
    return null;
  }

  timeIn = () => null;
  events = () => [];

  read(out: FindingsOf, batch: JsonObject, _: AgentKey, arrived: number) {
    for (const { item, resource } of itemsIn(batch)) {
      const attributes = attributesOf(item);
      const session = asNonBlank(attributes["session.id"]);
      if (session === null) continue;
      const agent = asNonBlank(attributes.agent_id);
      const speaker = agent === null ? key.thread(session) : key.agent(session, agent);
      const at =
        asTime(attributes["event.timestamp"]) ??
        nanoTime(item.startTimeUnixNano) ??
        nanoTime(item.timeUnixNano) ??
        arrived;
      const part = out.part({ speaker, at });
      const name = asText(item.name) ?? `claude_code.${asText(attributes["event.name"])}`;
      if (isWork(name, attributes))
        this.#describe(part, attributes, session, agent, asNonBlank(resource["service.version"]));
      readItem(part, name, item, attributes, session, speaker);
    }
  }

  /** Describes each agent once. */
  #describe(
    out: FindingsOf,
    attributes: JsonObject,
    session: string,
    agent: string | null,
    productVersion: string | null,
  ) {
    const name = `${session}/${agent ?? ""}`;
    if (this.#met.has(name)) return;
    this.#met.add(name);
    out.add(AT_WORK);
    const thread = key.thread(session);
    if (agent === null)
      return out.add({
        type: "agent-described",
        agent: thread,
        ...(productVersion === null ? {} : { productVersion }),
      });
    const child = key.agent(session, agent);
    const type = asNonBlank(attributes["agent.name"]) ?? asNonBlank(attributes.agent_type);
    out.add({ type: "agent-described", agent: child, ...(type === null ? {} : { agentType: type }) });
    const parent = asNonBlank(attributes.parent_agent_id);
    const says =
      parent === null ? "its telemetry names no parent agent" : `its telemetry names agent ${parent} as its parent`;
    const rule = "telemetry.parent_agent_id";
    out.add({
      type: "parent-named",
      child,
      parent: parent === null ? thread : key.agent(session, parent),
      rule,
      source: "protocol",
      confidence: 1,
      says,
    });
  }
}

const WORK = new Set([
  "claude_code.llm_request",
  "claude_code.api_request",
  "claude_code.tool",
  "claude_code.tool_result",
  "claude_code.subagent_completed",
]);

/** A session without work is not recorded. */
const isWork = (name: string, attributes: JsonObject) => WORK.has(name) && isByAgents(attributes);
const isByAgents = (attributes: JsonObject) =>
  BY_AGENTS.test(asText(attributes.query_source) ?? asText(attributes.query_source_safe) ?? "main");

function readItem(
  out: FindingsOf,
  name: string,
  item: JsonObject,
  attributes: JsonObject,
  session: string,
  speaker: AgentKey,
) {
  switch (name) {
    case "claude_code.llm_request":
    case "claude_code.api_request":
      return readCall(out, attributes, session);
    case "claude_code.subagent_completed":
      return out.add(turnEnded(speaker, "completed", "its telemetry reports that it completed"));
    case "claude_code.interaction":
      return out.addAt(
        nanoTime(item.endTimeUnixNano),
        turnEnded(speaker, "completed", "its telemetry reports that its turn is over"),
      );
    case "claude_code.user_prompt": {
      const prompt = asNonBlank(attributes.prompt);
      if (prompt !== null && prompt !== "<REDACTED>") out.add({ type: "agent-described", agent: speaker, prompt });
    }
  }
}

/** A span and a log describe the same call; only the log has the cache lifetime. */
function readCall(out: FindingsOf, attributes: JsonObject, session: string) {
  const request = asNonBlank(attributes.request_id);
  if (request === null || attributes.success === false || !isByAgents(attributes)) return;
  out.add({
    type: "model-call",
    response: key.record(session, request),
    model: asText(attributes.model) ?? "",
    ...(attributes.speed === "fast" ? ({ fast: true } as const) : {}),
    tokens: {
      inputTokens: asCount(attributes.input_tokens),
      outputTokens: asCount(attributes.output_tokens),
      reasoningTokens: 0,
      cacheReadTokens: asCount(attributes.cache_read_tokens),
      cacheWriteTokens: asCount(attributes.cache_creation_tokens),
      cacheWrite1hTokens: asCount(attributes.cache_creation_1h_tokens),
    },
    chars: 0,
    ended: true,
  });
}
