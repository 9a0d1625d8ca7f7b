import type { AgentKey } from "../../core/facts/ids.ts";
import { agentOf, type Forest } from "../../core/link/forest.ts";
import type { FindPosted, Outbox, Parcel } from "../../core/ports/outbox.ts";
import { redacted } from "../../core/redaction/redact-story.ts";
import { DEFAULT_REDACTION, Redactor } from "../../core/redaction/redaction.ts";
import { everyone, type Story } from "../../core/views/story.ts";
import type { Trace } from "../../exporters/trace/span.ts";
import { tracesOf } from "../../exporters/trace/spans.ts";
import type { Library } from "../ingest/library.ts";
import type { Destination, Plan } from "./destination.ts";
import type { OldTraces } from "./formats.ts";
import { type Log, logStory } from "./log.ts";
import { type IsOver, readStory } from "./story.ts";

/** Maximum size of the outbox. What does not fit is added later from the records. */
export const MAX_OUTBOX_BYTES = 256 << 20;

export interface PutOptions {
  readonly old: OldTraces | null;
  /** Only turns that were active after this time. */
  readonly since?: number;
  /** When the thread was last mentioned: a hook may report the end of a turn whose records are old. */
  readonly mentionedAt?: number;
  /** Only this agent, its subtree and its ancestors. */
  readonly below?: string;
  readonly wholeTurns?: boolean;
}

export interface PutResult {
  readonly plan: Plan;
  /** Number of new items; null if there was no room and nothing was added. */
  readonly put: number | null;
}

export interface Thread {
  readonly key: AgentKey;
  readonly story: Story;
}

/** The redacted story of a thread. */
export async function storyFor(
  { redaction }: Pick<Destination, "redaction">,
  library: Library,
  forest: Forest,
  thread: AgentKey,
  log: Log,
  isOver?: IsOver,
): Promise<Story> {
  const story = await readStory(library, forest, thread, isOver);
  logStory(story, log, library);
  return redaction === null ? story : redacted(story, new Redactor({ ...DEFAULT_REDACTION, ...redaction }));
}

export function planFor(destination: Destination, story: Story, options: PutOptions): Plan {
  return planOf(destination, story, tracesOf(story), options);
}

function planOf(
  destination: Destination,
  story: Story,
  all: readonly Trace[],
  { since, mentionedAt, below, old, wholeTurns = false }: PutOptions,
): Plan {
  const last = all.at(-1);
  const isRecent = (trace: Trace) =>
    since === undefined ||
    trace.root.end === null ||
    trace.root.end >= since ||
    (trace === last && mentionedAt !== undefined && mentionedAt >= since);
  const traces = all.filter(isRecent);
  const selected = below === undefined ? traces : traces.flatMap((trace) => only(trace, below));
  return destination.plan(story, selected, { now: Date.now(), old, wholeTurns });
}

/** Adds the items that were not in the outbox before. */
export function putInto(
  outbox: Outbox,
  destination: Destination,
  { key, story }: Thread,
  options: PutOptions,
  log: Log,
): PutResult {
  const traces = tracesOf(story);
  const plan = planOf(destination, story, traces, options);
  if (outbox.bytes() > MAX_OUTBOX_BYTES) return { plan, put: null };
  outbox.open(destination.name, null);
  const now = Date.now();
  const choose = (find: FindPosted) => [
    ...plan.parcels(find),
    ...abandoned(outbox, destination, { key, story }, traces, now),
  ];
  const { put, refused } = outbox.put(destination.name, key, choose, now);
  for (const one of refused)
    log(`${story.record.uri}: ${one} differs from what was sent to ${destination.name} before; not sent`);
  outbox.setUnfinished(destination.name, key, plan.isOpen);
  return { plan, put };
}

/** Ends spans that were sent when they began and are no longer in the records, once the thread is complete. */
function abandoned(
  outbox: Outbox,
  destination: Destination,
  { key, story }: Thread,
  traces: readonly Trace[],
  at: number,
): readonly Parcel[] {
  const open = outbox.stillOpen(destination.name, key);
  if (open.length === 0 || [...everyone(story)].some(({ isOver }) => !isOver)) return [];
  const held = new Set(traces.flatMap(({ spans }) => spans.map((span) => span.key)));
  return open
    .filter((posted) => !held.has(posted.key))
    .flatMap((posted) => destination.ending(story, posted, at) ?? []);
}

/** The part of a trace below an agent, with the agent's ancestors, so that ids stay the same. */
function only({ root, spans }: Trace, uri: string): Trace[] {
  const keep = new Set<Trace["root"]>();
  const below = new Set<Trace["root"]>();
  for (const span of spans) {
    if ((span.kind === "agent" && span.story.record.uri === uri) || (span.parent !== null && below.has(span.parent)))
      below.add(span);
    if (!below.has(span)) continue;
    for (let above: Trace["root"] | null = span; above !== null && !keep.has(above); above = above.parent)
      keep.add(above);
  }
  return keep.size === 0 ? [] : [{ root, spans: spans.filter((span) => keep.has(span)) }];
}

/** The root of an agent's tree. */
export function rootOf(forest: Forest, key: AgentKey): AgentKey {
  let root = key;
  for (let parent = forest.agents.get(root)?.parent ?? null; parent !== null; parent = agentOf(forest, root).parent)
    root = parent;
  return root;
}
