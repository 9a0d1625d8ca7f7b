/** Schemas of the HTTP API: they validate requests and describe responses in /api/openapi.json. */
import * as v from "valibot";
import { AGENT_KINDS, SOURCES } from "../core/facts/observation.ts";
import { STATUSES } from "../core/link/status.ts";
import { EVENT_KINDS } from "../core/views/event.ts";
import { SPAN_ENDS, SPAN_KINDS } from "../core/views/span.ts";
import { GROUPS } from "../core/views/stats.ts";

export const text = v.nullable(v.string());
export const count = v.pipe(v.number(), v.integer(), v.minValue(0));
export const time = v.nullable(v.pipe(v.string(), v.isoTimestamp()));
const status = v.picklist(STATUSES);
const source = v.picklist(SOURCES);
const statusCounts = v.record(v.string(), count);

/** An agent's status and why. */
export const StatusVerdict = v.object({ status, statusSource: source, statusReason: v.string() });

export const Tokens = {
  inputTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  cacheWrite1hTokens: count,
};

export const Usage = v.pipe(
  v.object({ calls: count, ...Tokens, costUsd: v.nullable(v.number()) }),
  v.metadata({ ref: "Usage" }),
);

const refusal = { toolCallId: v.string(), at: time, type: text, description: text, reason: text };
const record = {
  schema: v.literal("retinue/agent@1"),
  uri: v.string(),
  provider: v.string(),
  productVersion: text,
  sessionId: v.string(),
  agentId: text,
  parent: text,
  forkedFrom: text,
  depth: count,
  kind: v.picklist(AGENT_KINDS),
  type: text,
  name: text,
  title: text,
  description: text,
  prompt: text,
  cwd: text,
  project: text,
  branch: text,
  model: v.array(v.string()),
  tools: v.object({ allowed: v.nullable(v.array(v.string())), denied: v.nullable(v.array(v.string())) }),
  background: v.boolean(),
  status,
  statusSource: source,
  statusReason: v.string(),
  activity: text,
  link: v.nullable(
    v.object({ rule: v.string(), source, confidence: v.number(), toolCallId: text, evidence: v.array(v.string()) }),
  ),
  startedAt: time,
  endedAt: time,
  lastActivityAt: time,
  durationMs: v.nullable(v.number()),
  usage: v.object({
    own: Usage,
    internal: v.nullable(Usage),
    subtree: Usage,
    reported: v.nullable(
      v.object({ totalTokens: v.nullable(count), toolUses: v.nullable(count), durationMs: v.nullable(v.number()) }),
    ),
  }),
  counts: v.object({
    messages: count,
    toolCalls: count,
    toolErrors: count,
    spawned: count,
    refused: count,
    descendants: count,
    byStatus: statusCounts,
  }),
  refused: v.array(v.object(refusal)),
  result: text,
  records: v.array(v.object({ path: v.string(), bytes: count })),
  warnings: v.array(v.string()),
  owner: v.optional(v.pipe(v.string(), v.description("on a team server: whose agent it is"))),
};

export const Agent = v.pipe(v.object(record), v.metadata({ ref: "Agent" }));

const agent = v.object(record);
type Tree = v.InferOutput<typeof agent> & { readonly children: readonly Tree[] };
export const AgentTree: v.GenericSchema<Tree> = v.pipe(
  v.object({ ...record, children: v.array(v.lazy(() => AgentTree)) }),
  v.metadata({ ref: "AgentTree" }),
);

const place = v.union([v.object({ path: v.string(), line: count }), v.object({ path: v.string(), row: v.string() })]);

const event = {
  schema: v.literal("retinue/event@1"),
  uri: v.string(),
  id: v.string(),
  seq: count,
  at: time,
  kind: v.picklist(EVENT_KINDS),
  text,
  summary: v.pipe(
    text,
    v.description("If the text is markup that the product wrote for its model: its content as a readable sentence."),
  ),
  tool: v.nullable(v.object({ name: text, callId: v.string(), input: v.unknown(), isError: v.boolean() })),
  usage: v.nullable(v.object(Tokens)),
  spawn: v.nullable(
    v.object({
      uri: v.string(),
      agentId: text,
      sessionId: v.string(),
      prompt: text,
      type: text,
      toolCallId: text,
      parent: v.string(),
      depth: count,
      background: v.boolean(),
    }),
  ),
  status: v.nullable(StatusVerdict),
  ref: v.nullable(place),
};

/** An event with all of its text. */
export const WholeEvent = v.object(event);

export const Event = v.pipe(
  v.object({
    ...event,
    cut: v.pipe(
      v.nullable(v.object({ chars: count })),
      v.description(
        "Set if texts were truncated: the full number of characters. /agents/{uri}/events/{id} returns the whole event.",
      ),
    ),
  }),
  v.metadata({ ref: "Event" }),
);

export const Threads = v.object({ items: v.array(Agent), next: text });
export const Events = v.object({ items: v.array(Event), next: v.string(), first: count, total: count });

export const Span = v.object({
  kind: v.pipe(
    v.picklist(SPAN_KINDS),
    v.description("model: a model call; tool: a tool call; wait: for agents, a permission or a response"),
  ),
  from: v.pipe(v.number(), v.description("epoch milliseconds")),
  to: v.pipe(v.nullable(v.number()), v.description("null while it lasts")),
  name: v.pipe(text, v.description("the model, the tool, or what is waited for")),
  callId: text,
  tokens: count,
  outputTokens: count,
  end: v.pipe(v.nullable(v.picklist(SPAN_ENDS)), v.description("cut: it has no recorded end")),
  agents: v.pipe(v.array(v.string()), v.description("agents that the tool call spawned, or that were waited for")),
});
export const Spans = v.pipe(
  v.object({
    items: v.array(
      v.object({
        uri: v.string(),
        first: v.pipe(count, v.description("Position of the first span in the agent's list.")),
        removed: v.pipe(
          v.nullable(count),
          v.description("How many spans of the list they replace, from that position on; null: all."),
        ),
        spans: v.array(Span),
      }),
    ),
    next: v.pipe(v.string(), v.description("`after` of the next request")),
    whole: v.pipe(v.boolean(), v.description("False if only changes since `after` are included.")),
  }),
  v.metadata({ ref: "Spans" }),
);

export const Messages = v.object({
  items: v.array(
    v.object({
      from: v.string(),
      to: v.string(),
      at: v.pipe(v.nullable(v.number()), v.description("epoch milliseconds")),
      revives: v.pipe(v.boolean(), v.description("it revived an agent that had ended")),
    }),
  ),
  next: v.null(),
});

const evidence = v.object({
  decided: v.boolean(),
  parent: text,
  rule: v.string(),
  source,
  confidence: v.number(),
  toolCallId: text,
  says: v.string(),
  from: text,
});
export const Why = v.pipe(
  v.object({
    uri: v.string(),
    parent: text,
    forkedFrom: text,
    continuedIn: v.array(v.string()),
    parentEvidence: v.array(evidence),
    undecided: v.array(v.string()),
    refused: v.array(v.object({ ...refusal, tool: v.string() })),
    status: v.object({ status, statusSource: source, statusReason: v.string(), activity: text }),
    statusEvidence: v.array(v.object({ at: time, says: v.string(), source: v.string(), from: text })),
  }),
  v.metadata({ ref: "Why" }),
);

export const Attach = v.pipe(
  v.object({
    uri: v.string(),
    command: v.pipe(v.string(), v.description("the command to type in a terminal")),
    product: v.string(),
    begins: v.pipe(
      v.picklist(["history", "text"]),
      v.description("history: the product resumes the agent; text: a new session gets its history as a message"),
    ),
    runs: v.pipe(v.string(), v.description("what that command runs; shortened if it is long")),
    folder: v.pipe(text, v.description("where it is run; null: in the current folder")),
    notes: v.pipe(v.array(v.string()), v.description("differences from the agent's original session")),
  }),
  v.metadata({ ref: "Attach" }),
);

const Reading = v.object({
  done: v.pipe(count, v.description("files read")),
  all: count,
  bytes: v.pipe(count, v.description("bytes read")),
  allBytes: count,
  leftMs: v.pipe(v.nullable(v.number()), v.description("estimated remaining time")),
  reaches: v.pipe(v.string(), v.isoTimestamp(), v.description("all files modified after this time have been read")),
});

export const Findings = v.object({
  incomplete: v.pipe(
    v.nullable(
      v.object({
        files: v.pipe(count, v.description("files that are not searched yet")),
        bytes: count,
        reaches: v.pipe(v.string(), v.isoTimestamp(), v.description("all files modified after this time are searched")),
      }),
    ),
    v.description("Text is still being indexed, newest first. Null once all of it is searched."),
  ),
  items: v.array(
    v.object({
      uri: v.string(),
      kind: v.picklist(EVENT_KINDS),
      at: time,
      snippet: v.string(),
      marks: v.pipe(
        v.array(v.pipe(v.array(count), v.length(2))),
        v.description("start and end offsets of the matches in the snippet"),
      ),
      ref: place,
    }),
  ),
  next: v.null(),
});

const statsPart = {
  agents: count,
  durationMs: v.number(),
  usage: Usage,
  knownCostUsd: v.pipe(v.number(), v.description("the known part of the cost if a price is missing")),
};
const statsLine = {
  key: text,
  ...statsPart,
  byStatus: statusCounts,
  failed: v.pipe(v.object(statsPart), v.description("of agents that ended with an error")),
  delegated: v.pipe(v.object(statsPart), v.description("of sub-agents")),
  durations: v.nullable(
    v.object({
      least: v.number(),
      quarter: v.number(),
      median: v.number(),
      threeQuarters: v.number(),
      most: v.number(),
    }),
  ),
  threads: count,
};
const StatsLine = v.pipe(v.object(statsLine), v.metadata({ ref: "StatsLine" }));
export const StatsThreads = v.object({
  items: v.array(v.object({ ...statsLine, key: v.string(), record: v.nullable(Agent) })),
  next: v.null(),
});
export const Stats = v.object({
  incomplete: v.pipe(
    v.nullable(Reading),
    v.description(
      "Progress if files are still being read, newest first; they are not in these sums yet. Null once everything was read.",
    ),
  ),
  approximate: v.pipe(
    v.boolean(),
    v.description(
      "On a team server with much usage: a thread counts in each month in which it worked, quartiles of durations are within 5 %, and rare keys are (other). Tokens, costs and agents are exact.",
    ),
  ),
  total: StatsLine,
  by: v.record(v.picklist(GROUPS), v.array(StatsLine)),
});

export const Health = v.object({
  status: v.literal("ok"),
  version: v.string(),
  instance: v.string(),
  pid: count,
  home: v.pipe(text, v.description("null on a team server")),
  startedAt: v.pipe(v.string(), v.isoTimestamp()),
  reading: v.pipe(
    v.nullable(Reading),
    v.description(
      "Reading progress, newest files first; the newest threads are complete from the start. Null once everything was read.",
    ),
  ),
  watching: v.boolean(),
  demo: v.boolean(),
  clients: count,
  products: v.pipe(v.record(v.string(), v.string()), v.description("The names of products, by provider")),
  live: v.string(),
  troubles: v.pipe(
    v.array(v.object({ code: v.string(), message: v.string(), since: v.pipe(v.string(), v.isoTimestamp()) })),
    v.description(
      "What the server cannot do at the moment, and since when. Each entry disappears when its cause is gone.",
    ),
  ),
});

const problem = v.object({ code: v.string(), where: v.string(), detail: v.string(), times: v.optional(count) });
export const Doctor = v.object({
  home: v.string(),
  settings: v.object({ path: v.string(), exists: v.boolean(), set: v.array(v.string()) }),
  kept: v.object({ path: v.string(), exists: v.boolean(), links: count }),
  index: v.object({ path: v.string(), bytes: count, files: count }),
  roots: v.array(
    v.object({
      provider: v.string(),
      product: v.string(),
      path: v.string(),
      imported: v.boolean(),
      recorded: v.boolean(),
      exists: v.boolean(),
      files: count,
      bytes: count,
    }),
  ),
  versions: v.array(v.object({ provider: v.string(), version: text, threads: count })),
  threads: count,
  agents: count,
  internal: count,
  system: v.object({ platform: v.string(), processes: v.string(), writers: v.string(), locks: v.string() }),
  problems: v.array(
    v.object({
      code: v.string(),
      severity: v.picklist(["info", "data-loss", "error"]),
      sentence: v.string(),
      count,
      examples: v.array(problem),
    }),
  ),
});

export const Link = v.object({ child: v.pipe(v.string(), v.minLength(1)), parent: v.pipe(v.string(), v.minLength(1)) });
export const OtlpTaken = v.object({
  partialSuccess: v.optional(
    v.object({ rejectedSpans: v.optional(count), rejectedLogRecords: v.optional(count), errorMessage: v.string() }),
  ),
});
export const Woken = v.object({ watching: v.boolean() });
export const Address = v.object({
  address: v.pipe(v.string(), v.description("The URL for a browser; contains a token if one is needed.")),
});

export const Linked = v.object({ uri: v.pipe(v.string(), v.description("The agent's new URI.")), parent: text });

export const Failed = v.pipe(
  v.object({
    error: v.object({
      code: v.pipe(
        v.string(),
        v.description(
          "usage, unauthorized, forbidden, not_found, failed, expired, too_large, unsupported, invalid, internal or unavailable",
        ),
      ),
      message: v.string(),
      next: text,
      document: v.optional(
        v.pipe(
          v.nullable(count),
          v.description("of a shipment that is refused: the position of the document, from 0; null if it is not one"),
        ),
      ),
      thread: v.optional(v.pipe(text, v.description("the thread of that document, if it is known"))),
    }),
  }),
  v.metadata({ ref: "Failed" }),
);

export const wholeNumber = (min: number, max: number) =>
  v.pipe(v.string(), v.regex(/^-?\d{1,9}$/), v.transform(Number), v.integer(), v.minValue(min), v.maxValue(max));
export const flag = v.pipe(
  v.picklist(["true", "false", "1", "0", ""]),
  v.transform((value) => value !== "false" && value !== "0"),
);
const uris = v.union([v.string(), v.array(v.string())]);

export const ThreadsQuery = v.strictObject({
  provider: v.optional(v.string()),
  cwd: v.optional(v.string()),
  since: v.optional(v.pipe(v.string(), v.description("30m, 2h, 3d, 1w, or a date"))),
  running: v.optional(flag),
  status: v.optional(status),
  project: v.optional(v.string()),
  limit: v.optional(wholeNumber(1, 1_000), "50"),
  cursor: v.optional(v.string()),
});
export const EventsQuery = v.strictObject({
  after: v.optional(v.pipe(v.string(), v.description("`next` of an earlier response: continue after it"))),
  from: v.optional(
    v.pipe(
      wholeNumber(-1_000_000, 999_999_999),
      v.description("start at this position; a negative one counts from the end"),
    ),
  ),
  limit: v.optional(wholeNumber(1, 1_000), "200"),
  subtree: v.optional(v.pipe(flag, v.description("include the agents below"))),
});
export const SpansQuery = v.strictObject({
  after: v.optional(
    v.pipe(
      v.string(),
      v.description(
        "`next` of an earlier response: return only changes since then, or everything if they are no longer available",
      ),
    ),
  ),
});
export const SearchQuery = v.strictObject({
  q: v.pipe(v.string(), v.regex(/[\p{L}\p{N}]/u, "the query contains no word")),
  limit: v.optional(wholeNumber(1, 200), "50"),
});
export const StatsQuery = v.strictObject({
  since: v.optional(v.string()),
  by: v.optional(v.union([v.picklist(GROUPS), v.array(v.picklist(GROUPS))])),
});
export const StatsThreadsQuery = v.strictObject({
  by: v.picklist(GROUPS),
  key: v.optional(v.pipe(v.string(), v.description("key of the line; omit for the line whose key is null"))),
  since: v.optional(v.string()),
  limit: v.optional(wholeNumber(1, 200), "50"),
});
export const LiveQuery = v.strictObject({
  threads: v.optional(v.pipe(flag, v.description("records of top-level threads"))),
  tree: v.optional(v.pipe(uris, v.description("records of this agent and its subtree; may be repeated"))),
  events: v.optional(v.pipe(uris, v.description("events of this agent alone; may be repeated"))),
  log: v.optional(v.pipe(uris, v.description("events of this agent and its subtree; may be repeated"))),
  cards: v.optional(v.pipe(flag, v.description("cards"))),
  spans: v.optional(v.pipe(uris, v.description("spans of this agent and its subtree; may be repeated"))),
  after: v.optional(
    v.pipe(
      v.string(),
      v.description(
        "position to continue from, like Last-Event-ID, which an EventSource cannot send on its first connection",
      ),
    ),
  ),
});
