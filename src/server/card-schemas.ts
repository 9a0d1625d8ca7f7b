/** Schemas of cards and relays. */
import * as v from "valibot";
import { STAGES } from "../core/views/card.ts";
import { EVENT_KINDS } from "../core/views/event.ts";
import { count, StatusVerdict, Tokens, text, time, wholeNumber } from "./schemas.ts";

const stage = v.picklist(STAGES);

export const Card = v.pipe(
  v.object({
    id: v.string(),
    title: v.string(),
    stage: v.pipe(
      stage,
      v.description("Derived from the top-level threads. Running sub-agents only delay the final stage."),
    ),
    waiting: v.pipe(
      v.array(v.object({ uri: v.string(), agent: v.string(), for: v.string(), says: v.string(), since: time })),
      v.description("Agents at any depth that wait for a person, longest first."),
    ),
    progress: v.pipe(
      v.nullable(v.object({ done: count, total: count, current: text })),
      v.description("The plan and the activity of the top-level threads."),
    ),
    threads: v.pipe(v.array(v.string()), v.description("URIs of its top-level threads.")),
    inferred: v.pipe(
      v.array(v.string()),
      v.description("Agents shown here as a guess (relay.single_card_guess): their thread is unknown."),
    ),
    agents: v.object({ total: count, running: count }),
    createdAt: time,
    lastActivityAt: time,
  }),
  v.metadata({ ref: "Card" }),
);
export const CardList = v.object({ items: v.array(Card), next: v.null() });

const title = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(500));
const threads = v.pipe(v.array(v.pipe(v.string(), v.minLength(1))), v.maxLength(200));
export const NewCard = v.strictObject({
  title: v.optional(v.pipe(title, v.description("Default: the title of the first thread."))),
  threads: v.optional(threads),
  stage: v.optional(v.pipe(stage, v.description("queued, whatever the threads did so far"))),
});
export const CardChange = v.strictObject({
  title: v.optional(title),
  threads: v.optional(v.pipe(threads, v.description("Replaces the current list."))),
  stage: v.optional(
    v.pipe(
      stage,
      v.description("queued: reopens a card that has ended. All other stages are derived from the threads."),
    ),
  ),
});
export const Removed = v.object({ id: v.string() });

export const Activity = v.pipe(
  v.object({
    card_id: v.string(),
    agents: v.array(
      v.object({ agent_type: text, session_id: v.string(), event_count: count, first_seen: time, last_seen: time }),
    ),
    session_mappings: v.array(
      v.object({
        child_session_id: v.string(),
        card_id: v.string(),
        parent_session_id: v.pipe(text, v.description("Null if the parent is unknown.")),
        agent_type: text,
        description: text,
        created_at: time,
        inferred: v.pipe(v.boolean(), v.description("Assigned to this card by a guess (relay.single_card_guess).")),
      }),
    ),
  }),
  v.metadata({ ref: "CardActivity" }),
);

const LogEntry = v.pipe(
  v.object({
    id: v.string(),
    session_id: v.string(),
    event_type: v.picklist(EVENT_KINDS),
    agent: v.string(),
    content: v.pipe(v.string(), v.description("Begins with `↳ {agent} | ` for agents below a thread.")),
    metadata: v.object({
      _subagent: v.boolean(),
      _agent_type: text,
      uri: v.string(),
      tool: v.nullable(v.object({ name: text, callId: v.string(), input: v.unknown(), isError: v.boolean() })),
      usage: v.nullable(v.object(Tokens)),
      status: v.pipe(
        v.nullable(StatusVerdict),
        v.description("How a sub-agent ended; null in entries of any other event_type than status."),
      ),
    }),
    created_at: time,
  }),
  v.metadata({ ref: "CardLogEntry" }),
);
export const CardLog = v.object({ items: v.array(LogEntry), next: text });
export const CardLogQuery = v.strictObject({
  after: v.optional(v.pipe(v.string(), v.description("the id of an entry: continue after it"))),
  limit: v.optional(wholeNumber(1, 1_000), "200"),
});

export const Relay = v.pipe(
  v.object({
    id: v.string(),
    provider: v.string(),
    url: v.string(),
    state: v.picklist(["connecting", "following", "waiting", "refused", "stopped"]),
    since: v.pipe(v.string(), v.isoTimestamp()),
    error: text,
    limits: v.pipe(v.array(v.string()), v.description("What this server does not report, and why; one sentence each.")),
    frames: count,
    sessions: count,
    lastFrameAt: time,
  }),
  v.metadata({ ref: "Relay" }),
);
export const RelayList = v.object({
  items: v.array(Relay),
  next: v.null(),
  providers: v.array(v.object({ name: v.string(), product: v.string(), address: v.string(), secret: v.string() })),
});
export const NewRelay = v.strictObject({
  provider: v.string(),
  url: v.pipe(v.string(), v.minLength(1)),
  password: v.optional(
    v.pipe(v.string(), v.description("Kept in memory only. Default: the server's environment variable.")),
  ),
});
