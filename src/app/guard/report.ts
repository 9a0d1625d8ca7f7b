/** What `retinue guard` shows: the limits in force, what is used of them, and what was refused. */
import { readdirSync, rmSync, statSync } from "node:fs";
import { type AgentKey, partsOf, threadKey } from "../../core/facts/ids.ts";
import { formatUri } from "../../core/facts/uri.ts";
import { Ledger, type LedgerLine, NONE_REACHED } from "../../core/guard/ledger.ts";
import type { LimitScope } from "../../core/guard/limit-text.ts";
import {
  LIMIT_NAMES,
  type LimitAction,
  type LimitName,
  type LimitSet,
  type Limits,
  type LimitUse,
  limitsFor,
  limitsOfType,
  shareOf,
  usesOf,
} from "../../core/guard/limits.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import { treeOf } from "../../core/views/record.ts";
import { join } from "../../transports/system/paths.ts";
import { type Env, userHome } from "../home.ts";
import { type HookState, hookStates } from "../hooks/hook-install.ts";
import type { Library } from "../ingest/library.ts";
import { resolve } from "../query/resolve.ts";
import { type LedgerOf, ledgerOf, reachedBy } from "./ledger-file.ts";
import { guardFolder } from "./limits-file.ts";
import { treeSeenOf } from "./tree-feed.ts";
import { type GuardTrouble, lastTrouble } from "./trouble.ts";

export interface LimitInForce {
  /** Where it applies: everywhere, to agents of a type, to a project, or to a product. */
  readonly scope: LimitScope;
  readonly name: string | null;
  readonly limit: LimitName;
  readonly max: number;
  readonly action: LimitAction;
}

export interface ThreadUse {
  readonly uri: string;
  readonly title: string | null;
  readonly uses: readonly (LimitUse & { readonly share: number | null })[];
}

/** A call that a limit refused or warned about. */
export interface LimitEvent {
  readonly at: string;
  /** The agent that made the call. */
  readonly uri: string;
  readonly action: LimitAction;
  readonly limit: LimitName;
  readonly whose: string | null;
  readonly max: number;
  readonly used: number;
  /** The call, or the agent whose request the proxy refused. */
  readonly id: string;
  readonly type: string | null;
  readonly description: string | null;
  /** What enforced it. */
  readonly via: string;
  readonly reason: string;
}

export interface GuardReport {
  readonly limits: readonly LimitInForce[];
  readonly hooks: readonly HookState[];
  readonly threads: readonly ThreadUse[];
  /** Calls that were refused, and calls that were only warned about; newest first. */
  readonly denied: readonly LimitEvent[];
  readonly warned: readonly LimitEvent[];
  readonly trouble: GuardTrouble | null;
}

export function guardReport(library: Library, env: Env, limits: Limits, most: number): GuardReport {
  const now = library.now();
  const events = limitEvents(env);
  const running = [...library.threads({ running: true, limit: RUNNING })];
  return {
    limits: [...inForce(limits)],
    hooks: hookStates(env),
    threads: running.flatMap(({ uri }) => usedBy(library, env, limits, resolve(library, uri).key, now)),
    denied: events.filter(({ action }) => action === "deny").slice(0, most),
    warned: events.filter(({ action }) => action === "warn").slice(0, most),
    trouble: lastTrouble(env),
  };
}

/** Maximum number of running threads in the report. */
const RUNNING = 100;
/** Maximum number of ledgers that are read for events, newest first. */
const LEDGERS = 200;

function* inForce({ by_type, by_project, by_product, ...general }: Limits): Generator<LimitInForce> {
  const list = (scope: LimitInForce["scope"], name: string | null, set: LimitSet) =>
    LIMIT_NAMES.flatMap((limit) => (set[limit] === undefined ? [] : [{ scope, name, limit, ...set[limit] }]));
  yield* list("all", null, general);
  for (const [name, set] of Object.entries(by_product ?? {})) yield* list("product", name, set);
  for (const [name, set] of Object.entries(by_project ?? {})) yield* list("project", name, set);
  for (const [name, set] of Object.entries(by_type ?? {})) yield* list("type", name, set);
}

function usedBy(library: Library, env: Env, limits: Limits, thread: AgentKey, now: number): ThreadUse[] {
  const forest = library.forestOf([thread]);
  if (!forest.agents.has(thread)) return [];
  const tree = treeOf(forest, thread, library.price);
  const uses = threadUses(env, limits, tree, now);
  return uses.length === 0 ? [] : [{ uri: tree.uri, title: tree.title ?? tree.prompt, uses }];
}

/** How much a thread has used of its limits, and each of its running agents of the limits of its type. */
export function threadUses(env: Env, limits: Limits, tree: AgentTree, now: number): ThreadUse["uses"] {
  const { provider, sessionId, cwd } = tree;
  const applied = limitsFor(limits, { product: provider, cwd, home: userHome(env) });
  const seen = treeSeenOf(tree);
  const of = { provider, thread: sessionId };
  const lines = linesOf(env, of);
  const ledger = new Ledger(lines, applied, seen, lines.length === 0 ? reachedBy(env, of) : NONE_REACHED);
  const used = ledger.used(now, null);
  const minutesSince = (start: number | null) => (start === null ? null : (now - start) / 60_000);
  const chain = seen.agents
    .filter(({ running, type }) => running && Object.keys(limitsOfType(applied, type)).length > 0)
    .map(({ startedAt, ...agent }) => ({ ...agent, minutes: minutesSince(startedAt) }));
  const minutes = used.minutes ?? minutesSince(tree.startedAt === null ? null : Date.parse(tree.startedAt));
  return usesOf(applied, { ...used, minutes, chain }, deepest(tree)).map((use) => ({ ...use, share: shareOf(use) }));
}

/** Levels below the thread. */
function deepest(tree: AgentTree): number {
  let depth = 0;
  const stack = [tree];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    depth = Math.max(depth, next.depth - tree.depth);
    stack.push(...next.children);
  }
  return depth;
}

/** The events of the threads that were active last, newest first. */
export function limitEvents(env: Env): readonly LimitEvent[] {
  return ledgers(env)
    .flatMap(({ provider, thread }) => eventsIn(linesOf(env, { provider, thread }), threadKey(provider, thread)))
    .sort((a, b) => (a.at < b.at ? 1 : -1));
}

function eventsIn(lines: readonly LedgerLine[], thread: AgentKey): LimitEvent[] {
  const { provider, thread: id } = partsOf(thread);
  const asked = new Map(lines.flatMap((line) => (line.is === "spawn" ? [[line.call, line] as const] : [])));
  return lines.flatMap((line) => {
    if (line.is !== "decided" || line.exceeded === null || line.action === "allow") return [];
    const spawn = asked.get(line.call);
    const { limit, whose, max, used, text: reason } = line.exceeded;
    return [
      {
        at: new Date(line.at).toISOString(),
        uri: formatUri(provider, id, spawn?.by ?? null),
        action: line.action,
        limit,
        whose,
        max,
        used,
        id: line.call,
        type: spawn?.type ?? null,
        description: spawn?.description ?? null,
        via: line.via,
        reason,
      },
    ];
  });
}

/** The lines of a ledger; empty if it cannot be read. */
function linesOf(env: Env, of: LedgerOf): readonly LedgerLine[] {
  try {
    return ledgerOf(env, of);
  } catch {
    return [];
  }
}

const LEDGER = ".jsonl";

function ledgers(env: Env): { readonly provider: string; readonly thread: string }[] {
  const folder = guardFolder(env);
  const files = entriesIn(folder).flatMap((provider) =>
    entriesIn(join(folder, provider))
      .filter((name) => name.endsWith(LEDGER))
      .map((name) => ({
        provider,
        thread: name.slice(0, -LEDGER.length),
        at: statSync(join(folder, provider, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
      })),
  );
  return files.sort((a, b) => b.at - a.at).slice(0, LEDGERS);
}

const KEPT_MS = 30 * 24 * 3_600_000;

/** Removes the ledgers of threads that have not been active for a month. Never throws. */
export function tidyLedgers(env: Env, now: number): void {
  const folder = guardFolder(env);
  for (const provider of entriesIn(folder))
    for (const name of entriesIn(join(folder, provider))) removeIfOld(join(folder, provider, name), now);
}

function removeIfOld(path: string, now: number): void {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isFile() === true && now - found.mtimeMs > KEPT_MS) rmSync(path, { force: true });
  } catch {
    // No permission, or a read-only disk: the file stays.
  }
}

/** The entries of a folder; empty if it does not exist, or is a file. */
function entriesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
