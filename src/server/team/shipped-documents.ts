/** The documents that a team server accepts. Fields that are not described here are stored as they are. */
import * as v from "valibot";
import { isCanonicalUri } from "../../core/facts/uri.ts";
import { STATUSES } from "../../core/link/status.ts";
import { LIST_PART } from "../../core/ports/shipment.ts";
import { Agent, count, Messages, Span as SpanSchema, Tokens, WholeEvent, Why as WhyEvidence } from "../schemas.ts";

/**
 * The largest values that a machine may send. Real work stays far below them; sums over all people, columns and index
 * rows of the database stay within their range.
 */
export const MOST = {
  /** Index rows of PostgreSQL have at most 2,704 bytes. The largest one has two URIs and the id of an event. */
  uriBytes: 1_000,
  /** Of providers, models, agent types and templates of prompts. */
  nameChars: 1_000,
  /** Of folders and projects. */
  pathChars: 10_000,
  /** Of one agent with its subtree: 400,000 a second for a month. */
  tokens: 1e12,
  costUsd: 1e9,
  /** Messages, tool calls, agents. */
  count: 1e9,
  fileBytes: 1e15,
  /** The difference between the first and the last date that a machine can name. Rows of usage count less of it. */
  ms: 2 * 8.64e15,
  position: 2_000_000_000,
  /** The year 2255. Revisions are microseconds since 1970 and must be exact; see `ingest.ts` for those of the future. */
  revision: 9e15,
} as const;

const upTo = (most: number) => v.pipe(count, v.maxValue(most));
const signed = (most: number) => v.pipe(v.number(), v.minValue(-most), v.maxValue(most));
const chars = (most: number) => v.pipe(v.string(), v.maxLength(most));
const bytes = (most: number) => v.pipe(v.string(), v.maxBytes(most));
const name = chars(MOST.nameChars);
const path = v.nullable(chars(MOST.pathChars));
const text = v.nullable(v.string());
/** URIs are keys: PostgreSQL replaces a lone surrogate, so that two different ones would become the same. */
const uri = v.pipe(
  bytes(MOST.uriBytes),
  v.check((given) => given.isWellFormed() && isCanonicalUri(given), "not a URI"),
);
const revision = v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(MOST.revision));
const position = upTo(MOST.position);
const about = { thread: uri, revision };

/** Also with the years that ISO 8601 writes with six digits: the record of a broken clock is stored without a date. */
const isTime = (given: string) =>
  /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/.test(given) &&
  !Number.isNaN(Date.parse(given));
const time = v.nullable(v.pipe(v.string(), v.check(isTime, "not a time")));
/** The first ten characters of a time. */
const day = v.nullable(v.pipe(v.string(), v.regex(/^(?:\d{4}-\d\d-\d\d|[+-]\d{6}-\d\d)$/, "not a day")));

const tokens = Object.fromEntries(Object.keys(Tokens).map((kind) => [kind, upTo(MOST.tokens)]));
const costUsd = v.nullable(v.pipe(v.number(), v.minValue(0), v.maxValue(MOST.costUsd)));
const Usage = v.object({ calls: upTo(MOST.count), ...tokens, costUsd });
const amount = upTo(MOST.count);
const Refused = v.array(v.object({ ...Agent.entries.refused.item.entries, at: time }));

const record = v.looseObject({
  ...Agent.entries,
  uri,
  parent: v.nullable(uri),
  provider: name,
  sessionId: bytes(MOST.uriBytes),
  agentId: v.nullable(bytes(MOST.uriBytes)),
  depth: amount,
  type: v.nullable(name),
  cwd: path,
  project: path,
  model: v.array(name),
  startedAt: time,
  endedAt: time,
  lastActivityAt: time,
  durationMs: v.nullable(signed(MOST.ms)),
  usage: v.object({
    own: Usage,
    internal: v.nullable(Usage),
    subtree: Usage,
    reported: v.nullable(
      v.object({
        totalTokens: v.nullable(upTo(MOST.tokens)),
        toolUses: v.nullable(amount),
        durationMs: v.nullable(signed(MOST.ms)),
      }),
    ),
  }),
  counts: v.object({
    messages: amount,
    toolCalls: amount,
    toolErrors: amount,
    spawned: amount,
    refused: amount,
    descendants: amount,
    byStatus: v.record(v.string(), amount),
  }),
  refused: Refused,
  records: v.array(v.object({ path: v.string(), bytes: upTo(MOST.fileBytes) })),
});

const event = v.looseObject({
  ...WholeEvent.entries,
  uri,
  seq: position,
  at: time,
  usage: v.nullable(v.object(tokens)),
});

const Span = v.object({
  ...SpanSchema.entries,
  from: signed(MOST.ms),
  to: v.nullable(signed(MOST.ms)),
  tokens: upTo(MOST.tokens),
  outputTokens: upTo(MOST.tokens),
});

const Call = v.looseObject({ event: text, tokens: v.optional(v.object(tokens)), costUsd: v.optional(costUsd) });

const Why = v.object({
  ...WhyEvidence.entries,
  refused: v.array(v.object({ ...WhyEvidence.entries.refused.item.entries, at: time })),
  statusEvidence: v.array(v.object({ ...WhyEvidence.entries.statusEvidence.item.entries, at: time })),
});

/** One agent on one day with one model; the agent is counted in one of its rows. */
const SpentRow = v.object({
  day,
  provider: name,
  model: v.nullable(name),
  type: v.nullable(name),
  project: path,
  template: v.nullable(name),
  status: v.picklist(STATUSES),
  thread: uri,
  agents: upTo(1),
  durationMs: signed(MOST.ms),
  usage: Usage,
});

const part = v.pipe(position, v.multipleOf(LIST_PART));
const items = <S extends v.GenericSchema>(schema: S) => v.pipe(v.array(schema), v.maxLength(LIST_PART));
const detail = { ...about, is: v.literal("detail"), agent: uri };

/** By `is`; details by `what`. */
export const DOCUMENTS = {
  agent: v.object({ ...about, is: v.literal("agent"), uri, parent: v.nullable(uri), place: position, record }),
  removed: v.object({ ...about, is: v.literal("removed"), uri }),
  event: v.object({ ...about, is: v.literal("event"), agent: uri, at: position, event }),
  "events-from": v.object({ ...about, is: v.literal("events-from"), agent: uri, at: position }),
  spans: v.object({ ...about, is: v.literal("spans"), agent: uri, at: part, items: items(Span) }),
  calls: v.object({ ...about, is: v.literal("calls"), agent: uri, at: part, items: items(Call) }),
  why: v.object({ ...detail, what: v.literal("why"), value: Why }),
  messages: v.object({ ...detail, what: v.literal("messages"), value: Messages.entries.items }),
  spent: v.object({ ...detail, what: v.literal("spent"), value: v.array(SpentRow) }),
  reports: v.object({
    ...detail,
    what: v.literal("reports"),
    value: v.array(v.object({ event: v.string(), agents: v.array(v.string()) })),
  }),
} as const;

const named = v.pipe(v.string(), v.minLength(1), v.maxLength(100), v.regex(/^[^\p{Cc}\p{Cs}]+$/u));

/** The first line of a shipment. */
export const Head = v.object({ schema: v.literal("retinue/shipment@1"), machine: named, version: named });
