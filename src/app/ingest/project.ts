import { type AgentKey, partsOf, threadOf } from "../../core/facts/ids.ts";
import { agentOf, type Forest } from "../../core/link/forest.ts";
import { type LinkOptions, link } from "../../core/link/link.ts";
import type { ManualLink } from "../../core/link/parents.ts";
import type { AgentRow, Facts, Projection, RootRow, Store } from "../../core/ports/store.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import { type Price, treeOf, withoutChildren } from "../../core/views/record.ts";
import { spentRows } from "../../core/views/stats.ts";

export interface LinkContext extends LinkOptions {
  readonly manual: readonly ManualLink[];
  /** The current root folders. */
  readonly under: readonly string[];
  /** Called for every linked forest. */
  readonly onForest?: (versions: Facts["versions"], forest: Forest) => void;
}

/** The threads that must be linked together with these: by shared keys or manual links. */
function component(store: Store, threads: readonly AgentKey[], manual: readonly ManualLink[]): readonly AgentKey[] {
  let found = [...threads];
  for (;;) {
    const related = new Set(store.related(found));
    for (const { child, parent } of manual) {
      if (related.has(threadOf(child))) related.add(threadOf(parent));
      if (related.has(threadOf(parent))) related.add(threadOf(child));
    }
    if (related.size === found.length) return found;
    found = [...related];
  }
}

/** The components of these threads, each once. */
export function components(
  store: Store,
  threads: readonly AgentKey[],
  manual: readonly ManualLink[],
): readonly (readonly AgentKey[])[] {
  const all: (readonly AgentKey[])[] = [];
  const seen = new Set<AgentKey>();
  for (const thread of threads) {
    if (seen.has(thread)) continue;
    const related = component(store, [thread], manual);
    for (const key of related) seen.add(key);
    all.push(related);
  }
  return all;
}

/** Links these threads and all threads of their components. */
export function linkThreads(
  store: Store,
  threads: readonly AgentKey[],
  context: LinkContext,
): { readonly forest: Forest; readonly facts: Facts } {
  const facts = store.facts(component(store, threads, context.manual), context.under);
  const forest = link(facts.observations, context, facts.folds);
  context.onForest?.(facts.versions, forest);
  return { forest, facts };
}

/** Projects all threads that changed since their last projection, except those that `later` postpones. */
export function projectStale(
  store: Store,
  context: LinkContext,
  price: Price,
  later: (thread: AgentKey) => boolean = () => false,
): ReadonlySet<AgentKey> {
  const done = new Set<AgentKey>();
  // Another process may do the same work; then the remaining threads are checked again.
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const seen = new Set<AgentKey>();
    let refused = 0;
    let waiting: Projection[] = [];
    const write = () => {
      for (const [i, taken] of store.project(...waiting).entries()) {
        if (taken) for (const key of waiting[i]?.versions.keys() ?? []) done.add(key);
        else refused += 1;
      }
      waiting = [];
    };
    for (const thread of store.stale()) {
      if (seen.has(thread) || later(thread)) continue;
      const projection = projectionOf(store, [thread], context, price);
      for (const key of projection.versions.keys()) seen.add(key);
      waiting.push(projection);
      if (waiting.length >= WRITTEN_TOGETHER) write();
    }
    if (waiting.length > 0) write();
    if (refused === 0) break;
  }
  return done;
}

const MAX_ROUNDS = 10;
/** Number of projections per write. Bounds how long the write lock is held. */
const WRITTEN_TOGETHER = 50;

/** Projects these threads, each with its component; many in one write. */
export function projectThreads(store: Store, threads: readonly AgentKey[], context: LinkContext, price: Price): void {
  const seen = new Set<AgentKey>();
  let waiting: Projection[] = [];
  for (const thread of threads) {
    if (seen.has(thread)) continue;
    const projection = projectionOf(store, [thread], context, price);
    for (const key of projection.versions.keys()) seen.add(key);
    waiting.push(projection);
    if (waiting.length < WRITTEN_TOGETHER) continue;
    store.project(...waiting);
    waiting = [];
  }
  if (waiting.length > 0) store.project(...waiting);
}

function projectionOf(store: Store, threads: readonly AgentKey[], context: LinkContext, price: Price): Projection {
  const { forest, facts } = linkThreads(store, threads, context);
  const { versions, scattered } = facts;
  const trees = new Map(forest.roots.map((key) => [key, treeOf(forest, key, price)]));
  return {
    versions,
    roots: [...trees].map(([key, tree]) => ({
      ...rootRow(forest, key, tree),
      ...(scattered ? { settled: false } : {}),
    })),
    spent: new Map([...trees].map(([key, tree]) => [key, spentRows(forest, key, tree, price)])),
    agents: [...forest.agents.values()].map(
      ({ key, uri, sessionId, agentId, path }): AgentRow => ({ key, uri, sessionId, agentId, path }),
    ),
    problems: forest.problems,
  };
}

function rootRow(forest: Forest, key: AgentKey, tree: AgentTree): RootRow {
  const agent = agentOf(forest, key);
  const record = withoutChildren(tree);
  const unsettled = ["running", "pendingInit"] as const;
  return {
    key,
    provider: partsOf(key).provider,
    cwd: agent.cwd,
    lastActivity: agent.lastActivity ?? 0,
    settled: !unsettled.some((status) => record.status === status || (record.counts.byStatus[status] ?? 0) > 0),
    internals: agent.ownBehalf.length,
    record,
  };
}
