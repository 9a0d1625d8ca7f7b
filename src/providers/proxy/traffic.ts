import type { Exchange } from "../../core/facts/exchange.ts";
import type { AgentKey, RecordKey } from "../../core/facts/ids.ts";
import { threadKey } from "../../core/facts/ids.ts";
import type { RecordState } from "../../core/facts/observation.ts";
import type {
  BlockRow,
  EndedRow,
  OpenedRow,
  RequestRow,
  ResponseRow,
  TailPart,
  TrafficRow,
} from "../../core/facts/traffic.ts";
import { fingerprintsOf, NO_TOKENS } from "../../core/facts/usage.ts";
import type { Dialect, Interpreter } from "../../core/ports/dialect.ts";
import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../core/ports/provider.ts";
import { readRecorded } from "../../core/ports/recording.ts";
import { type JsonObject, jsonText } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { RECORD } from "../kit/record.ts";
import { NAME } from "./anonymous.ts";
import { partOf } from "./blocks.ts";
import { type CallerInfo, Callers } from "./callers.ts";
import { eventsIn } from "./events.ts";
import { readRow } from "./rows.ts";
import { speedOf, tokensOf } from "./tokens.ts";
import { responseUnits } from "./units.ts";

/** An exchange in progress. */
interface Open {
  readonly who: CallerInfo | null;
  readonly at: number;
  readonly chain: readonly string[];
  readonly tail: readonly TailPart[];
  readonly windowMs: number | null;
  agent: AgentKey | null;
  response: RecordKey | null;
  /** The id of the response in its key; the request's id if the server's ids are not unique. */
  responseId: string | null;
  /** The id in the response itself. */
  apiId: string | null;
  model: string | null;
  blocks: JsonObject[];
  exchange: Exchange;
}

interface Memory {
  readonly callers: unknown;
  readonly open: readonly (readonly [string, Open])[];
  readonly interpreters: readonly (readonly [AgentKey, unknown])[];
  readonly prompts: readonly (readonly [string, string])[];
}

/** How long after its spawn call an agent of another session may begin. */
const SOON_MS = 10 * 60_000;

/** The thread of requests without a known agent. */
const UNASSIGNED = threadKey(NAME, "other");

/** Reads recorded API traffic: the agent of each request, what it states about other agents, and its usage. */
export class Traffic implements Parser {
  readonly #file: SourceFile;
  readonly #callers: Callers;
  readonly #open: Map<string, Open>;
  readonly #interpreters = new Map<AgentKey, Interpreter>();
  readonly #savedInterpreters: Map<AgentKey, unknown>;
  /** Prompts of calls without a result. */
  readonly #prompts: Map<string, string>;
  #last: { readonly line: number; readonly row: TrafficRow; readonly at: number; readonly of: Open | null } | null =
    null;

  constructor(dialects: ReadonlyMap<string, Dialect>, file: SourceFile, saved?: unknown) {
    const memory = saved as Memory | undefined;
    this.#file = file;
    this.#callers = new Callers(dialects, memory?.callers);
    this.#open = new Map(memory?.open);
    this.#savedInterpreters = new Map(memory?.interpreters);
    this.#prompts = new Map(memory?.prompts);
  }

  save(): Memory {
    const states = new Map(this.#savedInterpreters);
    for (const [agent, interpreter] of this.#interpreters) states.set(agent, interpreter.save());
    return {
      callers: this.#callers.save(),
      open: [...this.#open],
      interpreters: [...states],
      prompts: [...this.#prompts],
    };
  }

  push(record: Uint8Array, line: number): Findings {
    this.#last = null;
    const recorded = readRecorded(record);
    if (recorded === null) return problemAt(this.#file.path, line, "line-not-json", `${record.length} bytes`);
    const row = "note" in recorded ? readRow(recorded.note) : null;
    if (row === null) return problemAt(this.#file.path, line, "record-malformed", "not a row of an exchange");
    if (row.is === "piece") return NOTHING;
    const { at } = recorded;
    if (row.is === "asked") return this.#asked(row, at, line);
    const open = this.#open.get(row.request);
    // The row of its request is missing, or was in an older file that was removed.
    if (open === undefined) return NOTHING;
    this.#last = { line, row, at, of: open };
    switch (row.is) {
      case "answered":
        return this.#answered(row, open);
      case "opened":
        return this.#opened(row, open, at, line);
      case "block":
        return this.#block(row, open, at, line);
      case "ended":
        return this.#ended(row, open, at, line);
      default:
        return row satisfies never;
    }
  }

  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (this.#last?.line !== line) this.push(record, line);
    if (this.#last === null) return [];
    const { row, at, of } = this.#last;
    const speaker = of?.agent ?? UNASSIGNED;
    return eventsIn(row, {
      at,
      speaker,
      key: (id) => this.#interpreterOf(of, speaker).key(id),
      response: of?.response ?? null,
    });
  }

  #asked(row: RequestRow, at: number, line: number): Findings {
    const who = this.#callers.identify(row, at);
    const caller = who?.caller ?? this.#callers.callerOf(row);
    const speaker = who?.agent ?? caller?.agent ?? caller?.thread ?? UNASSIGNED;
    const open: Open = {
      who,
      at,
      chain: row.chain,
      tail: row.tail,
      windowMs: row.windowMs,
      agent: who?.agent ?? null,
      response: null,
      responseId: null,
      apiId: null,
      model: row.model,
      blocks: [],
      exchange: exchangeOf(row, who, { speaker, thread: caller?.thread ?? UNASSIGNED }, at),
    };
    this.#open.set(row.request, open);
    this.#last = { line, row, at, of: open };
    const out = this.#findings(open, at, line, []);
    if (open.agent !== null && who?.isUnnamed === false && who.internal === null) this.#begin(out, open, at);
    return this.#with(out, open);
  }

  /** States everything in a request, as soon as its agent is known. */
  #begin(out: FindingsOf, open: Open, at: number) {
    const { who, agent, tail } = open;
    if (who === null || agent === null) return;
    this.#describe(out, who, agent);
    this.#addParents(out, who, agent);
    if (isBeginning(who)) this.#addMatches(out, open, who, agent);
    const interpreter = this.#interpreter(who, agent);
    const results = tail.flatMap((part) =>
      part.results.map(({ id, isError }) => ({ call: interpreter.key(id), isError })),
    );
    out.addAt(at, { ...RECORD, role: "user", state: "open", results, message: !who.position.isRetry });
    this.#name(out, who, tail);
    interpreter.toolResults(out, tail);
  }

  #describe(out: FindingsOf, who: CallerInfo, agent: AgentKey) {
    const { caller, prompt } = who;
    out.add({
      type: "agent-described",
      agent,
      file: { path: this.#file.path, bytes: this.#file.bytes },
      ...(caller.kind === null ? {} : { kind: caller.kind }),
      ...(caller.version === null ? {} : { productVersion: caller.version }),
      ...(caller.agentType === null ? {} : { agentType: caller.agentType }),
      ...(caller.name === null ? {} : { name: caller.name }),
      ...(caller.path === null ? {} : { path: caller.path }),
      ...(caller.cwd === null ? {} : { cwd: caller.cwd }),
      ...(prompt === null || !isBeginning(who) ? {} : { prompt }),
    });
  }

  #addParents(out: FindingsOf, { caller, asides }: CallerInfo, agent: AgentKey) {
    if (caller.parent !== null && caller.rule !== null)
      out.add({
        type: "parent-named",
        child: agent,
        parent: caller.parent,
        rule: caller.rule,
        source: "protocol",
        confidence: 1,
        says:
          caller.parent === caller.thread
            ? "its requests name it, and no agent above it"
            : "its requests name the agent above it",
      });
    for (const child of asides)
      out.add({
        type: "parent-named",
        child,
        parent: agent,
        rule: "quoted-prompt",
        source: "inferred",
        confidence: 0.9,
        says: "a request without tools quotes the prompt of this conversation",
      });
  }

  /** The keys that the agent may have in common with its spawn call. */
  #addMatches(out: FindingsOf, { windowMs }: Open, who: CallerInfo, agent: AgentKey) {
    const { caller, prompt } = who;
    const isRoot = agent === caller.thread && caller.parent === null;
    if (isRoot && this.#isNamed(who) && caller.isChildMaybe === undefined) return;
    // Without a common session, the agent must begin soon after the call.
    const withinMs = windowMs ?? (caller.isChildMaybe === undefined ? null : SOON_MS);
    for (const match of this.#callers.dialect(who.dialect).matches(caller, prompt))
      out.add({
        type: "spawn-match",
        agent,
        match,
        rule: "prompt",
        source: "inferred",
        exclusive: true,
        ...(withinMs === null ? {} : { withinMs }),
        says: "its first prompt equals the prompt of the call",
      });
  }

  /** Results that name an agent which was known by content only. */
  #name(out: FindingsOf, { dialect, caller }: CallerInfo, tail: readonly TailPart[]) {
    for (const { results } of tail)
      for (const { id, text } of results) {
        const prompt = this.#prompts.get(`${caller.thread} ${id}`);
        const agent = prompt === undefined ? null : this.#callers.dialect(dialect).namedIn(text, caller.thread);
        // A forked agent gets its own result for the call that spawned it.
        if (prompt === undefined || agent === null) continue;
        this.#prompts.delete(`${caller.thread} ${id}`);
        const alias = this.#callers.resultNames(caller.thread, prompt, agent, text);
        if (alias !== null) out.add({ type: "agent-aliased", alias, agent });
      }
  }

  #answered(row: ResponseRow, open: Open): Findings {
    open.exchange = { ...open.exchange, httpStatus: row.status };
    return this.#with(null, open);
  }

  #opened(row: OpenedRow, open: Open, at: number, line: number): Findings {
    const { who } = open;
    if (who === null) return NOTHING;
    const dialect = this.#callers.dialect(who.dialect);
    const responseId = this.#responseIdOf(row, open, who);
    open.response = dialect.response(who.caller.thread, responseId);
    open.responseId = responseId;
    open.apiId = row.response;
    open.model = row.model ?? open.model;
    if (open.agent === null && who.internal === null) open.agent = this.#callers.name(who, responseId);
    open.exchange = {
      ...open.exchange,
      response: open.response,
      model: open.model,
      speaker: open.agent ?? who.caller.thread,
    };
    if (!who.isUnnamed || open.agent === null) return this.#with(null, open);
    const out = this.#findings(open, at, line, [open.response]);
    this.#begin(out, open, open.at);
    return this.#with(out, open);
  }

  /** Some chat completion servers use response ids again, so the request's id is used instead. */
  #responseIdOf({ response, request }: OpenedRow, { exchange }: Open, who: CallerInfo): string {
    return exchange.api === "chat" && !this.#isNamed(who) ? request : response;
  }

  #block({ block }: BlockRow, open: Open, at: number, line: number): Findings {
    open.blocks.push(block);
    const { who, agent, response } = open;
    if (who === null || agent === null) return NOTHING;
    const part = partOf(block);
    const out = this.#findings(open, at, line, response === null ? [] : [response]);
    if (part.is === "text" && part.text !== "")
      out.add({ ...RECORD, role: "assistant", text: part.text, message: true });
    if (part.is === "call") {
      const interpreter = this.#interpreter(who, agent);
      const call = interpreter.key(part.call.id);
      out.add({ ...RECORD, role: "assistant", state: "open", calls: [{ call, name: part.call.name }], message: true });
      const before = out.observations.length;
      interpreter.called(out, part.call);
      for (const spawn of out.observations.slice(before)) {
        if (spawn.type !== "spawn-called") continue;
        const { tool: name, prompt, description, makes } = spawn;
        open.exchange = {
          ...open.exchange,
          invocations: [
            ...open.exchange.invocations,
            { call: spawn.call, toolUseId: part.call.id, name, prompt, description, makes },
          ],
        };
        if (prompt === null) continue;
        this.#prompts.set(`${who.caller.thread} ${part.call.id}`, prompt);
        this.#callers.offered(who, prompt, at);
      }
    }
    return this.#with(out, open);
  }

  #ended(ended: EndedRow, open: Open, at: number, line: number): Findings {
    const row = isComplete(ended) ? { ...ended, how: "finished" as const } : ended;
    this.#open.delete(row.request);
    const { who, response, exchange } = open;
    open.exchange = {
      ...exchange,
      how: row.how,
      error: row.error,
      httpStatus: row.status ?? exchange.httpStatus,
      stop: row.stop,
      usage: row.usage === null ? null : tokensOf(exchange.api, row.usage),
      firstTokenMs: row.firstTokenMs,
      durationMs: row.durationMs,
    };
    if (who === null) return this.#with(null, open);
    this.#remember(row, open, who);
    const agent =
      open.agent ??
      (who.internal !== null && open.responseId !== null
        ? this.#callers.dialect(who.dialect).unnamed(who.caller.thread, open.responseId)
        : null);
    if (agent === null) return this.#with(null, open);
    const out = this.#findings({ ...open, agent }, at, line, response === null ? [] : [response]);
    if (who.internal !== null)
      out.add({
        type: "agent-described",
        agent,
        internal: { why: `a request of the product itself: ${who.internal}`, unlessSpawned: true },
      });
    else out.add({ ...RECORD, state: stateAfter(row, open.blocks) });
    const isWhole = row.how === "finished" && row.error === null && row.stop !== null;
    if (isWhole && response !== null) this.#addModelCall(out, row, open, who, response);
    return this.#with(out, open);
  }

  #addModelCall(out: FindingsOf, row: EndedRow, open: Open, who: CallerInfo, response: RecordKey) {
    const { vendor } = this.#callers.dialect(who.dialect);
    const { api, usage } = open.exchange;
    out.add({
      type: "model-call",
      response,
      model: open.model ?? "",
      ...(vendor === "" ? {} : { vendor }),
      ...(who.caller.hasNoResponseIds ? { nameless: true as const } : {}),
      ...speedOf(api, row.usage),
      tokens: usage ?? NO_TOKENS,
      chars: usage === null ? lengthOf(open.blocks) : 0,
      ended: true,
      ...(this.#isNamed(who) ? {} : fingerprintsOf({ id: open.apiId, tokens: usage, content: contentOf(open.blocks) })),
    });
  }

  /** Remembers the response, for the request that continues it. */
  #remember(row: EndedRow, open: Open, who: CallerInfo) {
    const conversations = this.#callers.conversations(who);
    if (row.how !== "finished" || row.error !== null) {
      conversations.failed(row.request);
      return;
    }
    if (who.internal !== null && !this.#isNamed(who)) return;
    for (const units of responseUnits(open.exchange.api, open.blocks))
      conversations.addResponse(row.request, who.position, open.chain, units);
    const texts = open.blocks.flatMap((block) => {
      const part = partOf(block);
      return part.is === "text" ? [part.text] : [];
    });
    if (who.tag === "compaction") conversations.summarised(row.request, who.position.conversation, texts.join("\n"));
    if (open.agent !== null) this.#callers.addResponse(who.caller.thread, open.agent, texts.join("\n"));
  }

  #interpreter(who: CallerInfo, agent: AgentKey): Interpreter {
    const known =
      this.#interpreters.get(agent) ??
      this.#callers.dialect(who.dialect).open(who.caller, agent, this.#savedInterpreters.get(agent) ?? undefined);
    this.#interpreters.set(agent, known);
    return known;
  }

  /** For events: their row may be read without the request before it. */
  #interpreterOf(open: Open | null, agent: AgentKey): Pick<Interpreter, "key"> {
    return open?.who == null ? this.#callers.dialect("").open({} as never, agent) : this.#interpreter(open.who, agent);
  }

  /** Whether the product's own records contain and count the messages. */
  #isNamed = (who: CallerInfo) => this.#callers.isNamed(who);

  #findings({ agent, who }: Open, at: number, line: number, keys: readonly RecordKey[]): FindingsOf {
    return new FindingsOf({
      path: this.#file.path,
      line,
      at,
      speaker: agent ?? who?.caller.thread ?? UNASSIGNED,
      keys,
      origin: "proxy",
    });
  }

  /** The findings of a row, with the new state of its exchange. */
  #with(out: FindingsOf | null, { exchange }: Open): Findings {
    return { observations: out?.observations ?? [], problems: out?.problems ?? [], exchanges: [exchange] };
  }
}

/** The agent begins with this request, or its name is not known yet. */
const isBeginning = ({ isFirst, agent }: CallerInfo) => isFirst || agent === null;

/** The texts of a response, and the ids of its calls. */
const contentOf = (blocks: readonly JsonObject[]) =>
  blocks.map(partOf).flatMap((part) => (part.is === "text" ? [part.text] : part.is === "call" ? [part.call.id] : []));

/** For a response without usage: shows that there were tokens. */
const lengthOf = (blocks: readonly JsonObject[]) => (jsonText(blocks) ?? "").length;

/** Some clients close the connection once they have the last event of a response. */
const isComplete = ({ how, error, stop, usage }: EndedRow) =>
  how === "aborted" && error === null && stop !== null && usage !== null;

function stateAfter({ how, error, stop }: EndedRow, blocks: readonly JsonObject[]): RecordState {
  if (how === "aborted") return "interrupted";
  if (how !== "finished" || error !== null) return "failed";
  const waits =
    stop === "tool_use" ||
    stop === "tool_calls" ||
    stop === "pause_turn" ||
    blocks.some((block) => partOf(block).is === "call");
  return waits || stop === null ? "open" : "answered";
}

function exchangeOf(
  row: RequestRow,
  who: CallerInfo | null,
  { speaker, thread }: Pick<Exchange, "speaker" | "thread">,
  at: number,
): Exchange {
  const { request: id, api, method, path, upstream, model, process, chain } = row;
  return {
    id,
    at,
    speaker,
    thread,
    response: null,
    api,
    tag: who === null ? (api === "count" ? "count" : "other") : who.tag,
    method,
    path,
    upstream,
    model,
    branch: who?.position.branch ?? "main",
    before: who?.position.before ?? null,
    isRetry: who?.position.isRetry ?? false,
    messages: chain.length,
    how: "open",
    error: null,
    httpStatus: null,
    stop: null,
    usage: null,
    firstTokenMs: null,
    durationMs: null,
    process,
    invocations: [],
  };
}
