import type { AgentRecord, AgentTree } from "./agent.ts";
import type { AgentEvent } from "./event.ts";
import { type Explanation, explainTree } from "./explain.ts";
import { filesOf, type UsedFile } from "./files.ts";
import type { Subject, Surroundings } from "./findings/finding.ts";
import type { Span } from "./span.ts";
import type { CallCore, StoryCore } from "./story.ts";
import { foldTree } from "./tree-fold.ts";
import type { Why } from "./why.ts";

/** A model call, as findings need it. `event` is the id of its first event. */
export type SharedCall = Omit<CallCore, "key"> & { readonly event: string | null };

/** An event that reports the end of other agents. */
export interface SharedReport {
  readonly event: string;
  readonly agents: readonly string[];
}

/** An agent as it was shipped. */
export interface SharedAgent {
  readonly record: AgentRecord;
  /** Position among its siblings. */
  readonly place: number;
}

/** What the views of a subtree are made from, besides the records. */
export interface SharedParts {
  readonly events: readonly AgentEvent[];
  readonly calls: readonly SharedCall[];
  readonly spans: readonly Span[];
  readonly reports: readonly SharedReport[];
  readonly why: Why | null;
}

/** The tree of these agents below one of them. The duration of running agents is that of `now`. */
export function sharedTree(agents: Iterable<SharedAgent>, root: string, now: number): AgentTree | null {
  const list = [...agents];
  const top = list.find(({ record }) => record.uri === root);
  if (top === undefined) return null;
  const below = Map.groupBy(list, ({ record }) => record.parent);
  // Forged records may be each other's parents; each agent has one place.
  const placed = new Set([top]);
  const isNew = (one: SharedAgent) => !placed.has(one) && placed.add(one);
  const childrenOf = ({ record }: SharedAgent) =>
    (below.get(record.uri) ?? [])
      .filter(isNew)
      .toSorted((a, b) => a.place - b.place || (a.record.uri < b.record.uri ? -1 : 1));
  return foldTree<SharedAgent, AgentTree>(top, childrenOf, ({ record }, children) => ({
    ...withDuration(record, now),
    children,
  }));
}

/**
 * Tells whether an agent is one of `tops`, or below one of them. Looks at each agent once, however deep the tree is, and
 * ends if agents are each other's parents.
 */
export function subtreeTest(
  parents: ReadonlyMap<string, string | null>,
  tops: ReadonlySet<string>,
): (uri: string) => boolean {
  const known = new Map([...tops].map((uri) => [uri, true]));
  return (uri) => {
    const path = new Set<string>();
    let at: string | null = uri;
    while (at !== null && !known.has(at) && !path.has(at)) {
      path.add(at);
      at = parents.get(at) ?? null;
    }
    const isInside = at !== null && known.get(at) === true;
    for (const one of path) known.set(one, isInside);
    return isInside;
  };
}

/**
 * Whether one copy of a thread has more than another, by their top-level agents: the later activity counts, and at the
 * same time more agents, model calls or messages.
 */
export function isAhead(one: AgentRecord, other: AgentRecord): boolean {
  const [mine, theirs] = [extentOf(one), extentOf(other)];
  const at = mine.findIndex((value, i) => value !== theirs[i]);
  return at >= 0 && (mine[at] ?? 0) > (theirs[at] ?? 0);
}

const extentOf = ({ lastActivityAt, counts, usage }: AgentRecord): readonly number[] => [
  Date.parse(lastActivityAt ?? "") || 0,
  counts.descendants,
  usage.subtree.calls,
  counts.messages,
];

/** The opposite of `withoutRunningTime`: with the duration as of now. */
export function withDuration<R extends AgentRecord>(record: R, now: number): R {
  const { status, startedAt, durationMs } = record;
  return status === "running" && startedAt !== null && durationMs === null
    ? { ...record, durationMs: Math.max(0, now - Date.parse(startedAt)) }
    : record;
}

type PartsOf = (uri: string) => SharedParts | undefined;

function storyOf(tree: AgentTree, partsOf: PartsOf): StoryCore {
  return foldTree<AgentTree, StoryCore>(
    tree,
    ({ children }) => children,
    ({ children: _, ...record }, children) => {
      const { events = [], calls = [], reports = [] } = partsOf(record.uri) ?? {};
      const callOf = new Map(calls.flatMap(({ event }, i) => (event === null ? [] : [[event, String(i)] as const])));
      const reportedBy = new Map(reports.map(({ event, agents }) => [event, agents]));
      return {
        record,
        steps: events.map((event) => ({
          event,
          call: callOf.get(event.id) ?? null,
          reports: reportedBy.get(event.id) ?? [],
        })),
        calls: calls.map(({ event: _event, ...call }, i) => ({ ...call, key: String(i) })),
        children,
      };
    },
  );
}

/** What went wrong or was wasted in the tree. */
export const sharedExplanation = (tree: AgentTree, partsOf: PartsOf, around: Surroundings): Explanation =>
  explainTree({
    ...around,
    story: storyOf(tree, partsOf),
    spansOf: (uri) => partsOf(uri)?.spans ?? [],
    statedOf: (uri) => statedIn(partsOf(uri)?.why ?? null),
  });

export const sharedFiles = (tree: AgentTree, partsOf: PartsOf): readonly UsedFile[] => filesOf(storyOf(tree, partsOf));

const END = /^(?:errored|shutdown): /;

/** The last statement of another source about the end of an agent. */
function statedIn(why: Why | null): Subject["stated"] {
  const end = why?.statusEvidence.findLast(({ says, from }) => END.test(says) && from !== null);
  return end === undefined ? null : { says: end.says.replace(END, ""), place: end.from ?? "" };
}
