/**
 * The ledger of a thread: what hooks and wrapped runs report about spawns, in the order in which it was written. A
 * spawn is first added to it and then decided from all lines before it. So parallel spawns are counted exactly, without
 * a lock: each one sees those that were added before it.
 */
import { hash } from "../tools/hash.ts";
import { type AgentCount, ALLOWED, decide, type ThreadLimits, type Used, type Verdict } from "./limits.ts";
import { SteadyClock } from "./steady-clock.ts";

/** What a product reports about its agents, apart from spawns. */
export type LedgerNotice =
  /** An agent began or continues to work; its call is not always known. */
  | { readonly is: "started"; readonly agent: string; readonly type: string | null }
  /** The agent of a call is known. */
  | { readonly is: "bound"; readonly call: string; readonly agent: string }
  /** An agent ended: known by its id, by its call, or by both. */
  | { readonly is: "ended"; readonly call: string | null; readonly agent: string | null; readonly type: string | null }
  /** The thread waits for a person. Of its own agents only these are still running. */
  | { readonly is: "idle"; readonly running: readonly string[] }
  /** All agents have ended. */
  | { readonly is: "closed" }
  /** A person sent a prompt. */
  | { readonly is: "prompted" };

interface SpawnDecided extends Pick<Verdict, "action" | "exceeded"> {
  readonly is: "decided";
  readonly call: string;
  /** What enforced it: `hook`, `run`, `proxy` or `relay`. */
  readonly via: string;
}

export type LedgerLine = { readonly at: number } & (SpawnAsked | LedgerNotice | SpawnDecided);

export interface SpawnAsked {
  readonly is: "spawn";
  readonly call: string;
  /** The agent that makes the call; null for the thread. */
  readonly by: string | null;
  readonly type: string | null;
  readonly description: string | null;
  /** The depth of the calling agent, if its records state it. */
  readonly callerDepth: number | null;
  /** The process of the product: its agents end with it. */
  readonly process: string | null;
}

/** What the tree showed last, if a server or a wrapped run has written it. It may lag behind. */
export interface TreeSeen {
  readonly costUsd: number | null;
  readonly tokens: number | null;
  readonly agents: readonly TreeAgent[];
}

interface TreeAgent {
  readonly id: string;
  readonly parent: string | null;
  readonly call: string | null;
  readonly name: string;
  readonly type: string | null;
  readonly running: boolean;
  readonly startedAt: number | null;
  /** Of its subtree. */
  readonly costUsd: number | null;
  readonly tokens: number | null;
}

/** The number of agents of a thread when a spawn was denied because of it: it does not fall again. */
export interface Reached {
  readonly agents: number;
  readonly byType: Readonly<Record<string, number>>;
}

export const NONE_REACHED: Reached = { agents: 0, byType: {} };

/** Descriptions and types are written by models: one of a megabyte would fill the ledger. */
const MAX_TEXT = 1_000;
const MAX_ITEMS = 500;

/** With all texts cut to a length. Texts that differ stay different, because ids are among them. */
export function bounded<T>(value: T): T {
  return cut(value) as T;
}

function cut(value: unknown): unknown {
  if (typeof value === "string")
    return value.length <= MAX_TEXT
      ? value
      : `${value.slice(0, MAX_TEXT - 20).toWellFormed()}… ${hash(value).toString(36)}`;
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(cut);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cut(item)]));
}

interface Reserved {
  readonly call: string;
  readonly at: number;
  readonly by: string | null;
  readonly type: string | null;
  readonly depth: number;
  readonly process: string | null;
  agent: string | null;
  isOver: boolean;
}

interface Started {
  readonly at: number;
  readonly type: string | null;
  readonly depth: number;
}

const MINUTE_MS = 60_000;
/** Longer than a decision takes. */
const SETTLED_MS = 10_000;

/** The state of a thread after its lines, and the decision about each spawn. */
export class Ledger {
  readonly #limits: ThreadLimits;
  readonly #tree: TreeSeen | null;
  readonly #reached: Reached;
  readonly #clock = new SteadyClock();
  readonly #agentOfCall: ReadonlyMap<string, string>;
  readonly #byAgent = new Map<string, Reserved>();
  /** Spawns that were not denied. */
  readonly #reserved = new Map<string, Reserved>();
  readonly #verdicts = new Map<string, Verdict>();
  /** All calls of the ledger: the tree may show the agents of calls that are decided only later. */
  readonly #asked: ReadonlySet<string>;
  readonly #newest: number;
  readonly #decided = new Map<string, Verdict>();
  readonly #started = new Map<string, Started>();
  /** Agents that ended before their call became known. */
  readonly #ended = new Map<string, string | null>();
  #workingSince: number | null = null;

  constructor(
    written: readonly LedgerLine[],
    limits: ThreadLimits,
    tree: TreeSeen | null,
    reached: Reached = NONE_REACHED,
  ) {
    const lines = written.map((line) => ({ ...line, at: this.#clock.advance(line.at) }));
    this.#limits = limits;
    this.#tree = tree;
    this.#reached = reached;
    this.#agentOfCall = new Map(tree?.agents.flatMap(({ call, id }) => (call === null ? [] : [[call, id]])));
    this.#newest = lines.at(-1)?.at ?? 0;
    this.#asked = new Set(lines.flatMap((line) => (line.is === "spawn" ? [line.call] : [])));
    for (const line of lines)
      if (line.is === "decided" && !this.#decided.has(line.call))
        this.#decided.set(line.call, { action: line.action, exceeded: line.exceeded } as Verdict);
    for (const line of lines) this.#read(line);
  }

  /** Null if the spawn is not in the ledger. */
  verdictOf = (call: string): Verdict | null => this.#verdicts.get(call) ?? null;

  #read(line: LedgerLine): void {
    this.#workingSince ??= line.at;
    if (line.is === "spawn") this.#spawn(line);
    if (line.is === "started") this.#start(line.agent, line.type, line.at);
    if (line.is === "bound") this.#bind(line.call, line.agent);
    if (line.is === "ended") this.#end(line);
    if (line.is === "idle") this.#idle(new Set(line.running));
    if (line.is === "closed") this.#close();
    if (line.is === "prompted") this.#workingSince = line.at;
  }

  #spawn(line: LedgerLine & SpawnAsked): void {
    const { call, by, type, process } = line;
    // A repeated call is one spawn.
    if (this.#verdicts.has(call)) return;
    // The agents of an earlier process have ended with it.
    for (const one of this.#reserved.values())
      if (one.process !== null && process !== null && one.process !== process) one.isOver = true;
    const depth =
      (by === null ? 0 : (line.callerDepth ?? this.#callOf(by)?.depth ?? this.#started.get(by)?.depth ?? 1)) + 1;
    // A refusal is noted at once. An older spawn without one was allowed, whatever was used or set since then.
    const isOld = line.at < this.#newest - SETTLED_MS;
    const verdict =
      this.#decided.get(call) ??
      (isOld ? ALLOWED : decide(this.#limits, this.#used(line.at, by), { is: "spawn", type, depth }));
    this.#verdicts.set(call, verdict);
    if (verdict.action === "deny") return;
    this.#reserved.set(call, { call, at: line.at, by, type, depth, process, agent: null, isOver: false });
    const agent = this.#agentOfCall.get(call);
    if (agent !== undefined) this.#bind(call, agent);
  }

  #start(agent: string, type: string | null, at: number): void {
    const call = this.#callOf(agent);
    if (call !== undefined) call.isOver = false;
    this.#ended.delete(agent);
    if (this.#started.has(agent)) return;
    // If calls at several depths may have spawned it, the smallest depth is assumed.
    const unbound = [...this.#reserved.values()].filter((one) => one.agent === null && one.type === type);
    const depth = unbound.length === 0 ? 1 : Math.min(...unbound.map((one) => one.depth));
    this.#started.set(agent, { at, type, depth: call?.depth ?? depth });
  }

  #bind(call: string, agent: string): void {
    const reserved = this.#reserved.get(call);
    if (reserved === undefined) return;
    reserved.agent = agent;
    this.#byAgent.set(agent, reserved);
    if (this.#ended.delete(agent)) reserved.isOver = true;
  }

  #end({ call, agent, type }: Extract<LedgerLine, { is: "ended" }>): void {
    if (call !== null && agent !== null) this.#bind(call, agent);
    const reserved =
      (call === null ? undefined : this.#reserved.get(call)) ?? (agent === null ? undefined : this.#callOf(agent));
    if (reserved !== undefined) reserved.isOver = true;
    else if (agent !== null) this.#ended.set(agent, type);
    // An agent that has ended waits for no other one.
    for (const one of this.#reserved.values())
      if (agent !== null && one.by === agent && one.agent === null) one.isOver = true;
  }

  #idle(running: ReadonlySet<string>): void {
    for (const one of this.#reserved.values())
      if (one.by === null && (one.agent === null || !running.has(one.agent))) one.isOver = true;
    this.#ended.clear();
  }

  #close(): void {
    for (const one of this.#reserved.values()) one.isOver = true;
    this.#ended.clear();
  }

  #callOf = (agent: string) => this.#byAgent.get(agent);

  /** What the thread has used at a moment after its last line; `by` is the agent that proposes something. */
  used = (at: number, by: string | null): Used => this.#used(this.#clock.steady(at), by);

  #used(at: number, by: string | null): Used {
    const minutesSince = (start: number | null) => (start === null ? null : Math.max(0, at - start) / MINUTE_MS);
    const { agents, byType } = this.#reached;
    return {
      ...this.#count(() => true, [...this.#ended.values()].length, agents),
      ofType: (type) =>
        this.#count(
          (one) => one === type,
          [...this.#ended.values()].filter((one) => one === type).length,
          Object.hasOwn(byType, type) ? (byType[type] ?? 0) : 0,
        ),
      costUsd: this.#tree?.costUsd ?? null,
      tokens: this.#tree?.tokens ?? null,
      minutes: minutesSince(this.#workingSince),
      chain: this.#chain(by).map(({ id, name, type, startedAt, costUsd, tokens }) => ({
        name,
        type,
        costUsd,
        tokens,
        minutes: minutesSince(this.#started.get(id)?.at ?? this.#startOf(id, startedAt)),
      })),
    };
  }

  /** After the clock was set back, the tree's times are not comparable with those of the ledger. */
  #startOf(agent: string, startedAt: number | null): number | null {
    if (!this.#clock.wasSetBack) return startedAt;
    const call = this.#callOf(agent);
    return call === undefined ? startedAt : Math.max(call.at, startedAt ?? 0);
  }

  /** Spawns in the ledger, and agents that only the tree shows: they began before there were limits. */
  #count(isCounted: (type: string | null) => boolean, ended: number, reached: number): AgentCount {
    const reserved = [...this.#reserved.values()].filter(({ type }) => isCounted(type));
    const seen = (this.#tree?.agents ?? []).filter(({ type }) => isCounted(type));
    const known = new Set(reserved.flatMap(({ agent }) => agent ?? []));
    const others = seen.filter(({ call, id }) => !(call !== null && this.#asked.has(call)) && !known.has(id));
    const over = new Set(seen.flatMap(({ call, running }) => (call === null || running ? [] : [call])));
    const open = reserved.filter(({ isOver, call }) => !isOver && !over.has(call)).length;
    return {
      agents: Math.max(reached, reserved.length + others.length),
      running: Math.max(0, open - ended) + others.filter(({ running }) => running).length,
    };
  }

  /** The agent and those above it, the agent first; without the thread. */
  #chain(by: string | null): readonly TreeAgent[] {
    const chain: TreeAgent[] = [];
    for (let id = by; id !== null && chain.every((one) => one.id !== id); ) {
      const agent = this.#tree?.agents.find((one) => one.id === id) ?? this.#unseen(id);
      chain.push(agent);
      id = agent.parent;
    }
    return chain;
  }

  /** An agent that the tree does not show yet. */
  #unseen(id: string): TreeAgent {
    const call = this.#callOf(id);
    return {
      id,
      parent: call?.by ?? null,
      call: call?.call ?? null,
      name: `agent ${id}`,
      type: this.#started.get(id)?.type ?? call?.type ?? null,
      running: true,
      startedAt: null,
      costUsd: null,
      tokens: null,
    };
  }
}

/** The lines of a ledger. Lines that cannot be read are skipped: one may be half written. */
export function readLedger(text: string): LedgerLine[] {
  const lines: LedgerLine[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    try {
      const json = JSON.parse(line) as LedgerLine;
      if (typeof json?.at === "number" && typeof json.is === "string") lines.push(json);
    } catch {
      // Half written, or not a line of a ledger.
    }
  }
  return lines;
}
