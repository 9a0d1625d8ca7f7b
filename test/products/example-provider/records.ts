import { type AgentKey, partsOf } from "../../../src/core/facts/ids.ts";
import type { RecordRead } from "../../../src/core/facts/observation.ts";
import { NO_TOKENS } from "../../../src/core/facts/usage.ts";
import type { FindingsOf } from "../../../src/core/ports/findings.ts";
import {
  asCount,
  asList,
  asNonBlank,
  asObject,
  asText,
  asTime,
  type JsonObject,
} from "../../../src/core/tools/json.ts";
import type { EventDraft } from "../../../src/core/views/event.ts";
import * as key from "./keys.ts";

/** The tool that spawns an agent. */
export const SPAWN_TOOL = "delegate";

export const timeIn = (json: JsonObject) => asTime(json.at);
export const threadIn = (json: JsonObject) => asNonBlank(json.thread);

/** Interprets one record; transcripts and `example run --json` contain the same ones. */
export function readRecord(all: FindingsOf, json: JsonObject, thread: AgentKey) {
  const { thread: session } = partsOf(thread);
  const speaker = key.agent(session, asNonBlank(json.agent));
  const out = all.part({ speaker, keys: keysOf(json, session) });
  switch (json.type) {
    case "session": {
      const [cwd, productVersion] = [asNonBlank(json.cwd), asNonBlank(json.version)];
      return out.add({
        type: "agent-described",
        agent: speaker,
        ...(cwd === null ? {} : { cwd }),
        ...(productVersion === null ? {} : { productVersion }),
      });
    }
    case "prompt":
      return readPrompt(out, json, session, speaker);
    case "response":
      return readResponse(out, json, session);
    case "result":
      return readResult(out, json, session);
    default:
      return all.problem("record-unknown", asText(json.type) ?? "no type");
  }
}

function readPrompt(out: FindingsOf, json: JsonObject, session: string, speaker: AgentKey) {
  const [prompt, call, agentType] = [asNonBlank(json.text), asNonBlank(json.call), asNonBlank(json.agentType)];
  out.add({
    type: "agent-described",
    agent: speaker,
    ...(prompt === null ? {} : { prompt }),
    ...(agentType === null ? {} : { agentType }),
  });
  out.add({ ...RECORD, role: "user", state: "open", message: true });
  if (call !== null && speaker !== key.thread(session))
    out.add({
      type: "call-spawned",
      call: key.call(session, call),
      child: speaker,
      rule: "prompt.call",
      source: "child_rollout",
      says: `its prompt names call ${call}`,
    });
}

function readResponse(out: FindingsOf, json: JsonObject, session: string) {
  const [id, model, text, calls] = [
    asNonBlank(json.response),
    asNonBlank(json.model),
    asNonBlank(json.text),
    callsIn(json),
  ];
  out.add({
    ...RECORD,
    role: "assistant",
    message: true,
    state: calls.length === 0 ? "answered" : "open",
    text: calls.length === 0 ? text : null,
    calls: calls.map(({ id: call, name }) => ({ call: key.call(session, call), name })),
  });
  if (id !== null && model !== null)
    out.add({
      type: "model-call",
      response: key.response(id),
      model,
      tokens: { ...NO_TOKENS, inputTokens: asCount(json.input), outputTokens: asCount(json.output) },
      chars: text?.length ?? 0,
      ended: true,
    });
  for (const { id: call, name, input } of calls)
    if (name === SPAWN_TOOL)
      out.add({
        type: "spawn-called",
        call: key.call(session, call),
        tool: name,
        makes: "one",
        prompt: asNonBlank(input.prompt),
        agentType: asNonBlank(input.type),
        description: null,
        name: null,
        offers: [],
      });
}

function readResult(out: FindingsOf, json: JsonObject, session: string) {
  const id = asNonBlank(json.call);
  if (id === null) return;
  const call = key.call(session, id);
  const isError = json.error === true;
  out.add({ ...RECORD, state: "open", results: [{ call, isError }] });
  if (json.ended === true)
    out.add({
      type: "lifecycle",
      of: { call },
      state: isError ? "errored" : "completed",
      source: "parent_rollout",
      says: isError ? "its call failed" : "its call has returned",
      result: isError ? null : asNonBlank(json.text),
    });
}

const EVENT_KINDS: ReadonlyMap<string, EventDraft["kind"]> = new Map([
  ["prompt", "user"],
  ["response", "assistant"],
  ["result", "toolResult"],
]);

/** Null for bookkeeping. */
export function eventIn(json: JsonObject, thread: AgentKey, at: number | null): EventDraft | null {
  const { thread: session } = partsOf(thread);
  const kind = EVENT_KINDS.get(asText(json.type) ?? "") ?? null;
  const call = asNonBlank(json.call);
  return kind === null
    ? null
    : {
        speaker: key.agent(session, asNonBlank(json.agent)),
        keys: keysOf(json, session),
        at,
        kind,
        text: asText(json.text),
        tool:
          kind !== "toolResult" || call === null
            ? null
            : { name: null, call: key.call(session, call), input: null, isError: json.error === true },
        response:
          kind === "assistant" && asNonBlank(json.response) !== null ? key.response(String(json.response)) : null,
      };
}

const RECORD: RecordRead = {
  type: "record",
  role: "other",
  state: null,
  certain: true,
  calls: [],
  results: [],
  text: null,
  message: false,
};

function keysOf(json: JsonObject, session: string) {
  const id = asNonBlank(json.id);
  return id === null ? [] : [key.record(session, id)];
}

const callsIn = (json: JsonObject) =>
  asList(json.tools).flatMap((one) => {
    const call = asObject(one);
    const [id, name] = [asNonBlank(call?.id), asNonBlank(call?.name)];
    return id === null || name === null ? [] : [{ id, name, input: asObject(call?.input) ?? {} }];
  });
