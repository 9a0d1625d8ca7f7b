import type { AgentKey } from "../../core/ids.ts";
import { agentOf, type Forest } from "../../core/link.ts";
import { DEFAULT_REDACTION, Redactor } from "../../core/redaction.ts";
import { everyone, redacted, type Story } from "../../core/story.ts";
import type { Trace } from "../../exporters/trace/span.ts";
import { tracesOf } from "../../exporters/trace/spans.ts";
import type { FindPosted, Outbox, Parcel } from "../../stores/sqlite/outbox.ts";
import type { Library } from "../library.ts";
import type { Destination, Plan } from "./destination.ts";
import type { OldTraces } from "./formats.ts";
import { type Log, logStory } from "./log.ts";
import { type IsOver, readStory } from "./story.ts";

/** So much may wait. What does not fit stays in the records it comes from, and is put in when there is room. */
export const MAX_OUTBOX_BYTES = 256 << 20;

export interface PutOptions {
  readonly old: OldTraces | null;
  /** Only turns that went on after this. */
  readonly since?: number;
  /** When the thread was last heard of: a hook may report the end of a turn whose records are old. */
  readonly heardAt?: number;
  /** Only this agent, everybody below it, and those above it. */
  readonly below?: string;
  readonly wholeTurns?: boolean;
}

export interface PutResult {
  readonly plan: Plan;
  /** How many were put in; the others had been before. Null: there is no room, and nothing was. */
  readonly put: number | null;
}

export interface Thread {
  readonly key: AgentKey;
  readonly story: Story;
}

/** The story of a thread as it may leave the machine. */
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

function planOf(destination: Destination, story: Story, all: readonly Trace[], { since, heardAt, below, old, wholeTurns = false }: PutOptions): Plan {
  const last = all.at(-1);
  const isRecent = (trace: Trace) =>
    since === undefined || trace.root.end === null || trace.root.end >= since || (trace === last && heardAt !== undefined && heardAt >= since);
  const traces = all.filter(isRecent);
  const wanted = below === undefined ? traces : traces.flatMap((trace) => only(trace, below));
  return destination.plan(story, wanted, { now: Date.now(), old, wholeTurns });
}

/** Puts into the outbox what was not put in before. */
export function putInto(outbox: Outbox, destination: Destination, { key, story }: Thread, options: PutOptions, log: Log): PutResult {
  const traces = tracesOf(story);
  const plan = planOf(destination, story, traces, options);
  if (outbox.bytes() > MAX_OUTBOX_BYTES) return { plan, put: null };
  outbox.open(destination.name, null);
  const now = Date.now();
  const choose = (find: FindPosted) => [...plan.parcels(find), ...abandoned(outbox, destination, { key, story }, traces, now)];
  const { put, refused } = outbox.put(destination.name, key, choose, now);
  for (const one of refused) log(`${story.record.uri}: ${one} contradicts what ${destination.name} was sent before, and is not sent`);
  outbox.setUnfinished(destination.name, key, plan.isOpen);
  return { plan, put };
}

/** Ends of what was sent when it began and is no longer in the records, once nothing more is expected of the thread. */
function abandoned(outbox: Outbox, destination: Destination, { key, story }: Thread, traces: readonly Trace[], at: number): readonly Parcel[] {
  const open = outbox.stillOpen(destination.name, key);
  if (open.length === 0 || [...everyone(story)].some(({ isOver }) => !isOver)) return [];
  const held = new Set(traces.flatMap(({ spans }) => spans.map((span) => span.key)));
  return open.filter((posted) => !held.has(posted.key)).flatMap((posted) => destination.ending(story, posted, at) ?? []);
}

/** What of a trace has to do with an agent. Ids do not change by it: those above it are needed to stand below. */
function only({ root, spans }: Trace, uri: string): Trace[] {
  const keep = new Set<Trace["root"]>();
  const below = new Set<Trace["root"]>();
  for (const span of spans) {
    if ((span.kind === "agent" && span.story.record.uri === uri) || (span.parent !== null && below.has(span.parent))) below.add(span);
    if (!below.has(span)) continue;
    for (let above: Trace["root"] | null = span; above !== null && !keep.has(above); above = above.parent) keep.add(above);
  }
  return keep.size === 0 ? [] : [{ root, spans: spans.filter((span) => keep.has(span)) }];
}

/** The root of the tree an agent stands in. */
export function rootOf(forest: Forest, key: AgentKey): AgentKey {
  let root = key;
  for (let parent = forest.agents.get(root)?.parent ?? null; parent !== null; parent = agentOf(forest, root).parent) root = parent;
  return root;
}
