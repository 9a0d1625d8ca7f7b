import { fingerprintsOf } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import { firstLine } from "../kit/text.ts";
import * as key from "./keys.ts";
import { tokensOf } from "./tokens.ts";

/** The product's own agents, such as `managed-auto-memory-extractor`: they have neither a transcript nor a meta file. */
const INTERNAL = /^managed-/;

/**
 * A telemetry event in a session's transcript. It also contains the events of agents, with the model, which their own
 * transcripts do not name. Returns the error of a failed request of the session itself.
 */
export function readTelemetry(out: FindingsOf, event: JsonObject, session: string): string | null {
  const agent = asNonBlank(event.subagent_id) ?? asNonBlank(event.subagent_name);
  const name = asText(event["event.name"]);
  if (name === "qwen-code.api_error" && agent === null)
    return firstLine(asNonBlank(event.error_message) ?? asNonBlank(event.error_type) ?? "an API error");
  if (name !== "qwen-code.api_response" || agent === null) return null;
  const speaker = key.agent(session, agent);
  const type = asNonBlank(event.subagent_type) ?? asNonBlank(event.subagent_name);
  const tokens = tokensOf(
    event.input_token_count,
    event.output_token_count,
    event.cached_content_token_count,
    event.thoughts_token_count,
  );
  const id = asNonBlank(event.response_id);
  const response = key.response(session, agent, tokens);
  const part = out.part({ speaker, keys: [response], at: asTime(event["event.timestamp"]) });
  if (type !== null && INTERNAL.test(type))
    part.add({
      type: "agent-described",
      agent: speaker,
      internal: { why: `the product's own agent ${type}`, unlessSpawned: false },
    });
  part.add({
    type: "model-call",
    response,
    ...fingerprintsOf({ id, tokens, content: null }),
    model: asText(event.model) ?? "",
    tokens,
    chars: 0,
    ended: true,
  });
  return null;
}

/** The API's id of a response of the session itself; its record follows, without the id. Null for other events. */
export const ownResponseIn = (event: JsonObject): string | null =>
  asText(event["event.name"]) === "qwen-code.api_response" && asNonBlank(event.subagent_id) === null
    ? asNonBlank(event.response_id)
    : null;
