import { type AgentKey, type CallKey, messageIn, type RecordKey, recordIn } from "../facts/ids.ts";
import {
  type AgentDescribed,
  byTime,
  type ModelCalled,
  type Observation,
  type ObservationOf,
  type ToolLimits,
  type Waits,
} from "../facts/observation.ts";
import { isOutside, isReport } from "../facts/origin.ts";
import type { Plan } from "../facts/plan.ts";
import { isFinalCount, largestTokens, type Tokens, totalTokens } from "../facts/usage.ts";
import { addTo } from "../tools/collections.ts";
import { CallSums, type Calls } from "./call-list.ts";
import type { Fold } from "./fold.ts";
import { agentsIn } from "./mentions.ts";
import type { OwnState } from "./status.ts";
import { readTotals, type StatedTotal, type UnrecordedCall } from "./totals.ts";

type CallRow = ObservationOf<"model-call">;
type ReadRecord = ObservationOf<"record">;

/** One model call, however many rows its response is spread over. */
export interface ModelCall
  extends Pick<ModelCalled, "response" | "askedAt" | "model" | "vendor" | "costUsd" | "tokens">,
    Pick<ModelCalled, "outsideTotals" | "outputOnly" | "fast" | "fromTotals"> {
  readonly rows: RecordKey | null;
  readonly at: number | null;
  /** Observed by a proxy or telemetry, and not in the product's records. */
  readonly unrecorded?: true;
  /** False if the product never recorded the final number of output tokens. */
  readonly counted: boolean;
  /** `finished`: a row has the stop reason. Otherwise `cut` if the agent was interrupted next. */
  readonly end: "finished" | "cut" | "unknown";
}

export interface PendingCall {
  readonly call: CallKey;
  readonly name: string;
  readonly spawns: boolean;
  /** What a person must provide before the tool returns; null if nothing. */
  readonly waitsFor: string | null;
  readonly at: number | null;
}

/** A wait that the product reports, and since when. */
export interface StatedWait extends Pick<Waits, "for" | "says"> {
  readonly since: number | null;
  readonly call: CallKey | null;
}

interface AgentFile {
  readonly path: string;
  readonly bytes: number;
  /** The facts contain everything before this offset and nothing after it. Infinite if the file was not stored. */
  readonly readTo: number;
}

/** What an agent did, from its records and model calls. */
export interface Work {
  readonly records: number;
  /** Its records by time, for spans. */
  readonly steps: () => readonly ReadRecord[];
  /** Steps added after the first `count`, in order of arrival; null if no longer kept. Absent if steps may change. */
  readonly stepsSince?: (count: number) => readonly ReadRecord[] | null;
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  readonly own: OwnState | null;
  /** Tool calls of its last response without a result. */
  readonly pending: readonly PendingCall[];
  readonly messages: number;
  readonly toolCalls: number;
  readonly toolErrors: number;
  readonly answer: string | null;
  /** Oldest first. */
  readonly calls: Calls;
}

/** Everything known from records about one agent, before it is placed in the tree. */
export interface GatheredAgent extends Work {
  readonly key: AgentKey;
  readonly kind: AgentDescribed["kind"] | null;
  readonly internal: AgentDescribed["internal"] | null;
  readonly productVersion: string | null;
  readonly agentType: string | null;
  readonly name: string | null;
  readonly title: string | null;
  readonly description: string | null;
  readonly prompt: string | null;
  readonly cwd: string | null;
  readonly branch: string | null;
  readonly background: boolean | null;
  readonly path: string | null;
  readonly statedDepth: number | null;
  /** According to its own records, including copied ones. */
  readonly statedFork: AgentKey | null;
  readonly tools: ToolLimits | null;
  readonly marksProcess: boolean;
  readonly files: readonly AgentFile[];
  readonly warnings: readonly string[];
  /** Oldest first. */
  readonly waits: readonly StatedWait[];
  readonly plan: Plan | null;
  /** Messages to other agents. */
  readonly mail: readonly ObservationOf<"message-sent">[];
  readonly unrecorded: readonly UnrecordedCall[];
  /** In the order they were written. */
  readonly totals: readonly StatedTotal[];
}

/** Groups the facts by the agent they are about. The work of `folded` agents is already known. */
export function gatherAgents(
  facts: readonly Observation[],
  ownerOf: (record: RecordKey) => AgentKey | undefined,
  folded: ReadonlyMap<AgentKey, Fold> = new Map(),
): Map<AgentKey, GatheredAgent> {
  const about = new Map<AgentKey, Observation[]>([...folded.keys()].map((key) => [key, []]));
  const spawns = new Set<CallKey>();
  const mention = (key: AgentKey) => about.get(key) ?? about.set(key, []);
  for (const fact of facts) {
    if (fact.type === "spawn-called") spawns.add(fact.call);
    if (SHOWS_ALL_AGENTS.has(fact.type)) agentsIn(fact).forEach(mention);
    else if (!SHOWS_NO_AGENT.has(fact.type)) mention(fact.speaker);
    const subject = subjectOf(fact, ownerOf);
    if (subject !== undefined) addTo(about, subject, fact);
  }
  // Sorted by name, because the order of mention depends on what is folded.
  const agents = [...about].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(agents.map(([key, list]) => [key, gatherOne(key, list.sort(byTime), spawns, folded.get(key))]));
}

export const emptyAgent = (key: AgentKey): GatheredAgent => gatherOne(key, [], new Set(), undefined);

type Kinds = ReadonlySet<Observation["type"]>;
/** Facts that show that all agents they mention are agents, not only their speaker. */
const SHOWS_ALL_AGENTS: Kinds = new Set(["agent-described", "call-spawned", "parent-named", "spawn-match"] as const);
/** Facts that do not even show that their speaker is an agent: a process may start before any message. */
const SHOWS_NO_AGENT: Kinds = new Set(["process-seen", "file-refused", "agent-aliased", "starter-seen"] as const);

/** The agent that a fact describes; undefined for facts that only connect agents. */
function subjectOf(fact: Observation, ownerOf: (record: RecordKey) => AgentKey | undefined): AgentKey | undefined {
  switch (fact.type) {
    case "agent-described":
    case "waits":
      return fact.agent;
    case "thread-titled":
      return typeof fact.of === "string" ? fact.of : ownerOf(fact.of.record);
    case "record":
    case "model-call":
    case "model-call-missing":
    case "total-stated":
    case "plan-stated":
    case "message-sent":
      return fact.speaker;
    case "spawn-called":
    case "call-spawned":
    case "parent-named":
    case "spawn-match":
    // Tasks that are not agents have endings, too.
    case "lifecycle":
    case "process-seen":
    case "call-aliased":
    case "call-offers":
    case "call-refused":
    case "agents-stated":
    case "agent-aliased":
    case "file-refused":
    // An id in the output of a command may be no agent at all.
    case "thread-began":
    case "shell-called":
    case "shell-returned":
    case "starter-seen":
      return undefined;
    default:
      return fact satisfies never;
  }
}

function gatherOne(
  key: AgentKey,
  facts: readonly Observation[],
  spawns: ReadonlySet<CallKey>,
  fold: Fold | undefined,
): GatheredAgent {
  const described = facts.filter((f) => f.type === "agent-described");
  const work = fold?.work(spawns) ?? workOf(facts, spawns);
  const firstOf = <K extends keyof AgentDescribed>(field: K): NonNullable<AgentDescribed[K]> | null =>
    described.find((d) => d[field] !== undefined)?.[field] ?? null;
  const vouched = described.some((d) => d.vouched);
  const { uncounted } = countings.of(work.calls);
  const totals = readTotals(facts, fold);
  const isPrinted = facts.some((f) => f.type === "model-call" && isReport(f));
  return {
    key,
    kind: firstOf("kind"),
    internal:
      described.find((d) => d.internal !== undefined && !(d.internal.unlessVouched && vouched))?.internal ?? null,
    productVersion: described.findLast((d) => d.productVersion !== undefined)?.productVersion ?? null,
    agentType: firstOf("agentType"),
    name: firstOf("name"),
    title: bestTitle(facts.filter((f) => f.type === "thread-titled")),
    description: firstOf("description"),
    prompt: firstOf("prompt"),
    cwd: firstOf("cwd"),
    branch: firstOf("branch"),
    background: firstOf("background"),
    path: firstOf("path"),
    statedDepth: firstOf("depth"),
    statedFork: firstOf("forkedFrom"),
    tools: described.findLast((d) => d.tools !== undefined)?.tools ?? null,
    marksProcess: described.some((d) => d.marksProcess),
    files: [...new Map(described.flatMap(({ file }) => (file ? [[file.path, fileOf(file)] as const] : []))).values()],
    warnings: [
      ...new Set(described.flatMap((d) => d.warning ?? [])),
      // A printed total includes them.
      ...(uncounted === 0 || totals.totals.some(({ printed }) => printed !== undefined)
        ? []
        : [
            `${uncounted} of ${work.calls.length} responses have no final output count (${isPrinted ? "the product's output has only the count with which a response began" : "this version of the product does not record it"}): output tokens and cost are too low`,
          ]),
    ],
    ...work,
    waits: facts
      .filter((f) => f.type === "waits")
      .map((f) => ({ for: f.for, says: f.says, since: f.at, call: f.call ?? null })),
    plan: facts.findLast((f) => f.type === "plan-stated")?.plan ?? null,
    mail: facts.filter((f) => f.type === "message-sent"),
    ...totals,
  };
}

/** Calls whose output was never counted completely. */
const countings = new CallSums<{ uncounted: number }>({
  start: () => ({ uncounted: 0 }),
  copy: (sum) => ({ ...sum }),
  add: (sum, call) => {
    if (!call.counted) sum.uncounted += 1;
  },
});

/** `facts` are sorted by time. */
function workOf(facts: readonly Observation[], spawns: ReadonlySet<CallKey>): Work {
  const records = facts.filter((f) => f.type === "record");
  const results = new Set(records.flatMap((r) => r.results.map((x) => x.call)));
  return {
    records: records.length,
    steps: () => records,
    firstAt: records.find((r) => r.at !== null)?.at ?? null,
    lastAt: records.at(-1)?.at ?? null,
    own: ownStateOf(records.findLast((r) => r.state !== null)),
    pending: pendingCalls(records, (call) => results.has(call), spawns),
    messages: countMessages(records),
    toolCalls: new Set(records.flatMap((r) => r.calls.map((c) => c.call))).size,
    toolErrors: new Set(records.flatMap((r) => r.results.filter((x) => x.isError).map((x) => x.call))).size,
    answer: lastResponseText(records),
    calls: mergeCalls(
      facts.filter((f) => f.type === "model-call"),
      records.filter((r) => r.state === "interrupted"),
    ),
  };
}

export function ownStateOf(record: ReadRecord | undefined): OwnState | null {
  if (record === undefined || record.state === null) return null;
  return {
    at: record.at,
    state: record.state,
    certain: record.certain,
    turn: record.turn ?? null,
    error: record.error ?? null,
  };
}

const fileOf = ({
  path,
  bytes,
  readTo = Number.POSITIVE_INFINITY,
}: NonNullable<AgentDescribed["file"]>): AgentFile => ({ path, bytes, readTo });

function mergeCalls(rows: readonly CallRow[], interruptions: readonly ReadRecord[]): ModelCall[] {
  const responses = withoutTwins([...Map.groupBy(rows, responseIn(rows))]);
  return responses.flatMap(
    ([response, list], i) => callOf(response, list, responses[i + 1]?.[1][0], interruptions) ?? [],
  );
}

/** The model call of a response, from its rows sorted by time; `next` is the first row of the next response. */
export function callOf(
  response: RecordKey,
  list: readonly CallRow[],
  next: CallRow | undefined,
  interruptions: readonly ReadRecord[],
): ModelCall | null {
  const [first] = list;
  if (first === undefined) return null;
  const row: CallStatement = list.length === 1 ? first : mergeRows(list);
  const wasCut =
    !row.ended && interruptions.some((r) => byTime(first, r) < 0 && (next === undefined || byTime(r, next) < 0));
  const end = row.ended ? "finished" : wasCut ? "cut" : "unknown";
  const tokens = list.length === 1 ? withinWrites(first.tokens) : finalTokens(list);
  return {
    response,
    rows: row.rows ?? null,
    at: first.at,
    ...(row.askedAt === undefined ? {} : { askedAt: row.askedAt }),
    model: row.model,
    ...(row.vendor === undefined ? {} : { vendor: row.vendor }),
    ...(row.costUsd === undefined ? {} : { costUsd: row.costUsd }),
    ...(row.outsideTotals ? { outsideTotals: true as const } : {}),
    ...(row.outputOnly ? { outputOnly: true as const } : {}),
    ...(row.fast ? { fast: true as const } : {}),
    ...(row.fromTotals ? { fromTotals: true as const } : {}),
    ...(list.every(isOutside) ? { unrecorded: true as const } : {}),
    tokens,
    counted: isCounted(tokens, row.chars, end) && (row.ended || !list.every(isReport)),
    end,
  };
}

type StatedFields =
  | ("rows" | "askedAt" | "vendor" | "costUsd")
  | ("outsideTotals" | "outputOnly" | "fast" | "fromTotals");

/** What the rows of a response state about its model call, apart from tokens. */
type CallStatement = Pick<CallRow, "model" | "ended" | "chars"> & {
  readonly [K in StatedFields]?: CallRow[K] | undefined;
};

/** The first statement of each field counts, the last one of the cost. */
function mergeRows(list: readonly CallRow[]): CallStatement {
  const found = <K extends StatedFields>(field: K) => list.find((row) => row[field] !== undefined)?.[field];
  return {
    rows: found("rows"),
    askedAt: found("askedAt"),
    vendor: found("vendor"),
    model: list.find((row) => row.model !== "")?.model ?? "",
    costUsd: list.findLast((row) => row.costUsd !== undefined)?.costUsd,
    outsideTotals: list.some((row) => row.outsideTotals) || undefined,
    outputOnly: list.every((row) => row.outputOnly) || undefined,
    fast: list.some((row) => row.fast) || undefined,
    fromTotals: list.some((row) => row.fromTotals) || undefined,
    ended: list.some((row) => row.ended),
    chars: list.reduce((sum, row) => sum + row.chars, 0),
  };
}

/**
 * The usage of a response. Rows written after it ended take precedence: models behind gateways stream an estimated
 * input count, which the last row corrects downwards. If no row has ended (Claude Code up to 2.1.300 may write none),
 * the rows with the largest output count take precedence. Of several equally final rows, which may each have only some
 * numbers (Copilot, telemetry), the largest of each number counts.
 */
function finalTokens(rows: readonly CallRow[]): Tokens {
  const all = rows.map((row) => row.tokens).reduce(largestTokens);
  const ended = rows.filter((row) => row.ended && totalTokens(row.tokens) > 0);
  const decisive = ended.length > 0 ? ended : rows.filter((row) => row.tokens.outputTokens === all.outputTokens);
  const final = decisive.map((row) => row.tokens).reduce(largestTokens);
  // Parts of the other numbers, which telemetry and proxies do not always report.
  return withinWrites({
    ...final,
    reasoningTokens: all.reasoningTokens,
    cacheWrite1hTokens: all.cacheWrite1hTokens,
  });
}

/** Cache writes for an hour are part of all cache writes. */
const withinWrites = (tokens: Tokens): Tokens =>
  tokens.cacheWrite1hTokens <= tokens.cacheWriteTokens
    ? tokens
    : { ...tokens, cacheWrite1hTokens: tokens.cacheWriteTokens };

/** If one source knows only the request of a response, another source that names both connects them. */
function responseIn(rows: readonly CallRow[]): (row: CallRow) => RecordKey {
  const responses = new Map(
    rows.flatMap(({ request, alias, response }) =>
      [request, alias].flatMap((name) => (name === undefined ? [] : [[name, response] as const])),
    ),
  );
  return ({ response }) => responses.get(response) ?? response;
}

type Response = readonly [RecordKey, readonly CallRow[]];

/** Of a response that two sources know by different keys, the product's own record counts; matched by usage. */
function withoutTwins(responses: readonly Response[]): readonly Response[] {
  const isNameless = ([, [first]]: Response) => first?.nameless === true;
  if (!responses.some(isNameless)) return responses;
  const used = ([, list]: Response) => JSON.stringify(finalTokens(list));
  const counted = Map.groupBy(
    responses.filter((one) => !isNameless(one)),
    used,
  );
  return responses.filter((one) => !isNameless(one) || counted.get(used(one))?.pop() === undefined);
}

/**
 * A row is written when a response begins, with its few tokens so far; up to Claude Code 2.1.300 the final number may
 * be missing. No language has twelve characters per token.
 */
function isCounted({ outputTokens }: Tokens, chars: number, end: ModelCall["end"]): boolean {
  return (end === "finished" && isFinalCount(outputTokens)) || outputTokens > 24 || chars <= 12 * outputTokens;
}

/**
 * The calls of the last response without a result. Earlier ones were abandoned: a model is not called again before all
 * results are available.
 */
export function pendingCalls(
  records: readonly ReadRecord[],
  hasResult: (call: CallKey) => boolean,
  spawns: ReadonlySet<CallKey>,
): PendingCall[] {
  const last = records.findLast((r) => r.role === "assistant" && r.calls.length > 0);
  if (last === undefined) return [];
  const response = messageIn(last);
  const calls = records
    .filter((r) => r === last || (r.role === "assistant" && messageIn(r) === response))
    .flatMap((r) => r.calls.map((call) => ({ ...call, at: r.at })));
  const open = new Map(
    calls
      .filter((c) => !hasResult(c.call))
      .map((c) => [
        c.call,
        { call: c.call, name: c.name, spawns: spawns.has(c.call), waitsFor: c.waitsFor ?? null, at: c.at },
      ]),
  );
  return [...open.values()];
}

/**
 * A response spread over several rows is one message. The product and a proxy may know the messages of a conversation
 * by different keys: the one with more messages counts.
 */
function countMessages(records: readonly ReadRecord[]): number {
  const count = (list: readonly ReadRecord[]) => new Set(list.map((r) => messageIn(r) ?? r.id)).size;
  const messages = records.filter((r) => r.message);
  return Math.max(count(messages.filter((r) => !isOutside(r))), count(messages.filter(isOutside)));
}

/** The text of the last response that has any. */
export function lastResponseText(records: readonly ReadRecord[]): string | null {
  const last = records.findLast((r) => r.text !== null);
  if (last === undefined) return null;
  const response = messageIn(last);
  const texts = new Map(
    records
      .filter((r) => r.text !== null && (r === last || (response !== undefined && messageIn(r) === response)))
      .map((r) => [recordIn(r) ?? r.id, r.text]),
  );
  // Two sources may report the same response under different keys.
  return [...new Set(texts.values())].join("\n");
}

function bestTitle(titles: readonly ObservationOf<"thread-titled">[]): string | null {
  const best = titles.reduce((rank, t) => Math.min(rank, t.rank), Number.POSITIVE_INFINITY);
  return titles.findLast((t) => t.rank === best)?.title ?? null;
}
