import { messageIn, type RecordKey } from "../../core/facts/ids.ts";
import type { ModelCalled, RecordRead, SpawnCalled, ToolCalled, ToolResult } from "../../core/facts/observation.ts";
import type { ModelCallMissing } from "../../core/facts/totals.ts";
import { fingerprintsOf, isFinalCount } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asList, asNonBlank, asObject, asText } from "../../core/tools/json.ts";
import { commandIn, ShellCalls, type ShellMemory } from "../kit/launch/shell-calls.ts";
import { statePlan } from "../kit/plan.ts";
import * as key from "./keys.ts";
import { hasEnded, isModelResponse, isSynthetic, type Row, textOf, tokensOf, writtenChars } from "./rows.ts";
import { readToolResult, spawnCalled } from "./spawns.ts";
import { isRetried, stateAfter } from "./state-after.ts";
import { COMPACTION, MODEL_TOOLS } from "./totals.ts";

/** What distinguishes two reports of a model call. */
type ReportedCall = Pick<ModelCalled, "response" | "model" | "tokens">;

export interface ConversationMemory {
  readonly spawns: readonly (readonly [string, SpawnCalled["makes"]])[];
  readonly callRows: readonly (readonly [string, string])[];
  readonly modelTools: readonly (readonly [string, ModelCallMissing])[];
  readonly reported: ReportedCall | null;
  readonly shells: ShellMemory;
}

/**
 * `statesTurns`: a line of its own ends each turn of the thread, so no response does; and a line or a result ends each
 * agent, so a text without a stop reason does not.
 */
interface ConversationOf {
  readonly statesTurns: boolean;
}

/** Reads messages and tool calls row by row; the same for rows of a transcript and of the output stream. */
export class Conversation {
  readonly #spawns: Map<string, SpawnCalled["makes"]>;
  /** The row of each spawn call without a result. */
  readonly #callRows: Map<string, string>;
  /** Open calls of tools that call a model themselves. */
  readonly #modelTools: Map<string, ModelCallMissing>;
  /** The last model call that was reported. */
  #reported: ReportedCall | null;
  readonly #shells: ShellCalls;
  readonly #of: ConversationOf;

  constructor(of: ConversationOf, memory?: ConversationMemory) {
    this.#of = of;
    this.#spawns = new Map(memory?.spawns);
    this.#callRows = new Map(memory?.callRows);
    this.#modelTools = new Map(memory?.modelTools);
    this.#reported = memory?.reported ?? null;
    this.#shells = new ShellCalls(memory?.shells);
  }

  save(): ConversationMemory {
    return {
      spawns: [...this.#spawns],
      callRows: [...this.#callRows],
      modelTools: [...this.#modelTools],
      reported: this.#reported,
      shells: this.#shells.save(),
    };
  }

  /** `askedAt`: when the request was sent that this row responds to, if recorded. */
  read(out: FindingsOf, row: Row, session: string, askedAt?: number): void {
    // Without a session the conversation cannot be assigned.
    const after = session === key.NO_SESSION ? null : stateAfter(row);
    const isOpen =
      this.#of.statesTurns &&
      after?.state === "answered" &&
      (!after.certain || out.place.speaker === key.thread(session));
    const isResponse = isModelResponse(row);
    const response = isResponse ? (messageIn(out.place) ?? null) : null;
    const text = isResponse ? textOf(row) : "";
    const { calls, results } = toolUseIn(row, session);
    out.add({
      type: "record",
      role: row.type === "user" || row.type === "assistant" ? row.type : "other",
      state: after === null ? null : isOpen ? "open" : after.state,
      certain: isOpen || (after?.certain ?? true),
      calls,
      results,
      // Only a final response can be the agent's result; texts between tool calls are read from the transcript on
      // demand.
      text: text === "" || after?.state !== "answered" ? null : text,
      message: response !== null || (row.type === "user" && after !== null),
    });
    if (response !== null) this.#readModelCall(out, row, response, session, askedAt);
    if (row.type === "system" && row.json.subtype === "compact_boundary") out.add(COMPACTION);
    if (isRetried(row)) this.#takeBack(out, retractedIn(row), session);
    for (const block of row.blocks) {
      if (block.is === "tool-use" && !isSynthetic(row)) {
        statePlan(out, block.input);
        const spawn = spawnCalled(block, row, session);
        if (spawn !== null) {
          this.#spawns.set(block.id, spawn.makes);
          if (row.uuid !== null) this.#callRows.set(block.id, row.uuid);
          out.add(spawn);
        }
        const to = block.name === "SendMessage" ? asNonBlank(asObject(block.input)?.to) : null;
        if (to !== null) out.add({ type: "message-sent", to: LEADS.has(to) ? key.thread(session) : { named: to } });
        const missing = MODEL_TOOLS.get(block.name);
        if (missing !== undefined) this.#modelTools.set(block.id, missing);
        if (block.name === SHELL)
          this.#shells.called(
            out,
            key.call(session, block.id),
            commandIn(block.input, "command"),
            asNonBlank(row.json.cwd),
            row.at,
            asObject(block.input)?.run_in_background === true,
          );
      }
      if (block.is === "tool-result") {
        readToolResult(out, block, row, session, this.#spawns.get(block.id) ?? null);
        this.#callRows.delete(block.id);
        const missing = this.#modelTools.get(block.id);
        if (missing !== undefined && !block.isError) out.add(missing);
        if (this.#shells.hasOpen)
          this.#shells.returned(out, key.call(session, block.id), {
            text: block.text,
            at: row.at,
            continues:
              asNonBlank(asObject(row.json.toolUseResult)?.backgroundTaskId) !== null || IN_BACKGROUND.test(block.text),
          });
      }
    }
  }

  /** Spawn calls in messages that were taken back are never made. Their tokens were used all the same. */
  #takeBack(out: FindingsOf, rows: ReadonlySet<unknown>, session: string) {
    for (const [call, uuid] of this.#callRows)
      if (rows.has(uuid))
        out.add({
          type: "call-refused",
          call: key.call(session, call),
          says: "the message that called it was taken back",
        });
  }

  /**
   * A response is spread over several rows. After a row with its stop reason and usage, later ones add nothing about
   * the model call.
   */
  #readModelCall(out: FindingsOf, row: Row, response: RecordKey, session: string, askedAt?: number) {
    const request = asNonBlank(row.json.requestId);
    const names = request === null ? { response } : { response, request: key.record(session, request) };
    const call = {
      ...names,
      type: "model-call" as const,
      model: asText(row.message?.model) ?? "",
      tokens: tokensOf(row),
      ended: hasEnded(row),
    };
    if (call.ended && this.#reported !== null && isSameCall(call, this.#reported)) return;
    this.#reported = { response, model: call.model, tokens: call.tokens };
    const isFinal = call.ended && isFinalCount(call.tokens.outputTokens);
    const fact = { ...call, chars: isFinal ? 0 : writtenChars(row) };
    const isFast = asObject(row.message?.usage)?.speed === "fast";
    const api = apiIdOf(row);
    // Most calls have none of these; spreading them into every call takes as long as the rest of this function.
    out.add(
      askedAt === undefined && !isFast && api === null
        ? fact
        : { ...fact, ...(askedAt === undefined ? {} : { askedAt }), ...(isFast ? { fast: true } : {}), ...api },
    );
  }
}

const isSameCall = (a: ReportedCall, b: ReportedCall) =>
  a.response === b.response &&
  a.model === b.model &&
  a.tokens.inputTokens === b.tokens.inputTokens &&
  a.tokens.outputTokens === b.tokens.outputTokens &&
  a.tokens.reasoningTokens === b.tokens.reasoningTokens &&
  a.tokens.cacheReadTokens === b.tokens.cacheReadTokens &&
  a.tokens.cacheWriteTokens === b.tokens.cacheWriteTokens &&
  a.tokens.cacheWrite1hTokens === b.tokens.cacheWrite1hTokens;

/** The `uuid` of each message that was taken back. */
export const retractedIn = ({ json }: Row): ReadonlySet<unknown> =>
  new Set(asList(json.retractedMessageUuids ?? json.retracted_message_uuids));

/** The tool calls and the results in a row. */
function toolUseIn({ blocks }: Row, session: string): Pick<RecordRead, "calls" | "results"> {
  const [calls, results]: [ToolCalled[], ToolResult[]] = [[], []];
  for (const block of blocks) {
    if (block.is === "tool-result") results.push({ call: key.call(session, block.id), isError: block.isError });
    if (block.is !== "tool-use") continue;
    const call = { call: key.call(session, block.id), name: block.name };
    calls.push(AWAITS_AGENTS.has(block.name) ? { ...call, awaitsAgents: true } : call);
  }
  return { calls, results };
}

/**
 * Up to 2.1.42 a forked session gives copied records new ids and times, and only the API's id of a response stays. It
 * relates the copy to the original.
 */
function apiIdOf(row: Row): { readonly fingerprints?: readonly RecordKey[] } | null {
  const id = asNonBlank(row.message?.id);
  return id === null || !givesNewIds(asText(row.json.version) ?? "")
    ? null
    : fingerprintsOf({ id, tokens: tokensOf(row), content: null });
}

let [lastVersion, lastGivesNewIds] = ["", false];

/** Nearly all rows have the version of the row before. */
function givesNewIds(version: string): boolean {
  if (version === lastVersion) return lastGivesNewIds;
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  lastVersion = version;
  lastGivesNewIds = major === 2 ? minor === 0 || (minor === 1 && patch <= 42) : major === 1;
  return lastGivesNewIds;
}

const SHELL = "Bash";
/** Agent files contain only the text of the result. */
const IN_BACKGROUND = /^Command (?:running in background|was manually backgrounded)/;

/** Names that team members use for the thread they work for. */
const LEADS = new Set(["main", "team-lead"]);

/** Tools that wait for a background agent; 2.0.60 has a separate one for this. */
const AWAITS_AGENTS = new Set(["TaskOutput", "AgentOutputTool"]);
