import type { FindingsOf } from "../../core/findings.ts";
import type { RecordKey } from "../../core/ids.ts";
import { asObject, asText, asWords } from "../../core/json.ts";
import type { CallUnrecorded, SpawnCalled } from "../../core/observation.ts";
import * as key from "./keys.ts";
import { hasEnded, isSynthetic, type Row, responseOf, textOf, tokensOf, writtenChars } from "./rows.ts";
import { readToolResult, spawnCalled } from "./spawns.ts";
import { standAfter } from "./stand.ts";
import { COMPACTION, MODEL_TOOLS } from "./totals.ts";

export interface ConversationMemory {
  readonly spawns: readonly (readonly [string, SpawnCalled["makes"]])[];
  readonly asking: readonly (readonly [string, CallUnrecorded])[];
  readonly ended: string;
}

/** What is said and done in a conversation, row by row; the same wherever the rows were found, in a transcript or in what the product prints. */
export class Conversation {
  readonly #spawns: Map<string, SpawnCalled["makes"]>;
  /** Calls of tools that ask a model themselves. */
  readonly #asking: Map<string, CallUnrecorded>;
  /** The last model call, as it was told. */
  #ended: string;

  constructor(memory?: ConversationMemory) {
    this.#spawns = new Map(memory?.spawns);
    this.#asking = new Map(memory?.asking);
    this.#ended = memory?.ended ?? "";
  }

  save(): ConversationMemory {
    return { spawns: [...this.#spawns], asking: [...this.#asking], ended: this.#ended };
  }

  /** `askedAt`: when the request was sent that the row answers, where that is recorded. */
  read(out: FindingsOf, row: Row, session: string, askedAt?: number): void {
    // Without a session nobody knows whose conversation it is.
    const stand = session === key.NO_SESSION ? null : standAfter(row);
    const response = responseOf(row, session);
    const isAnswer = row.type === "assistant" && response !== null;
    const said = isAnswer ? textOf(row) : "";
    out.add({
      type: "record",
      role: row.type === "user" || row.type === "assistant" ? row.type : "other",
      stands: stand?.stands ?? null,
      certain: stand?.certain ?? true,
      calls: row.blocks.flatMap((b) => (b.is === "tool-use" ? [{ call: key.call(session, b.id), name: b.name, ...awaits(b.name) }] : [])),
      results: row.blocks.flatMap((b) => (b.is === "tool-result" ? [{ call: key.call(session, b.id), isError: b.isError }] : [])),
      // Only an answer can be the agent's last word; what it says between tool calls is in the transcript.
      text: said === "" || stand?.stands !== "answered" ? null : said,
      message: isAnswer || (row.type === "user" && stand !== null),
    });
    if (isAnswer) this.#readModelCall(out, row, response, session, askedAt);
    if (row.type === "system" && row.json.subtype === "compact_boundary") out.add(COMPACTION);
    for (const block of row.blocks) {
      if (block.is === "tool-use" && !isSynthetic(row)) {
        out.planned(block.input);
        const spawn = spawnCalled(block, row, session);
        if (spawn !== null) {
          this.#spawns.set(block.id, spawn.makes);
          out.add(spawn);
        }
        const to = block.name === "SendMessage" ? asWords(asObject(block.input)?.to) : null;
        if (to !== null) out.add({ type: "message-sent", to: LEADS.has(to) ? key.thread(session) : { named: to } });
        const asks = MODEL_TOOLS.get(block.name);
        if (asks !== undefined) this.#asking.set(block.id, asks);
      }
      if (block.is === "tool-result") {
        readToolResult(out, block, row, session, this.#spawns.get(block.id) ?? null);
        const asked = this.#asking.get(block.id);
        if (asked !== undefined && !block.isError) out.add(asked);
      }
    }
  }

  /** A response is spread over several rows. Once one of them said how it ended and what it took, the next ones say nothing new about the call. */
  #readModelCall(out: FindingsOf, row: Row, response: RecordKey, session: string, askedAt?: number) {
    const request = asWords(row.json.requestId);
    const call = {
      response,
      ...(request === null ? {} : { request: key.record(session, request) }),
      ...(askedAt === undefined ? {} : { askedAt }),
      model: asText(row.message?.model) ?? "",
      tokens: tokensOf(row),
      ended: hasEnded(row),
    };
    const name = [response, call.model, ...Object.values(call.tokens)].join(" ");
    if (call.ended && name === this.#ended) return;
    this.#ended = name;
    out.add({ type: "model-call", ...call, chars: writtenChars(row) });
  }
}

/** What agents of a team call the thread they work for. */
const LEADS = new Set(["main", "team-lead"]);

/** Waits for an agent in the background; 2.0.60 has a tool of its own for it. */
const awaits = (tool: string): { readonly awaitsAgents?: true } => (tool === "TaskOutput" || tool === "AgentOutputTool" ? { awaitsAgents: true } : {});
