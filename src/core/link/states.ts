import { displayName } from "../facts/display-name.ts";
import { type AgentKey, threadOf } from "../facts/ids.ts";
import { byTime, type Observation, type ObservationOf } from "../facts/observation.ts";
import { addTo } from "../tools/collections.ts";
import { plural } from "../tools/format.ts";
import type { GatheredAgent, PendingCall, StatedWait } from "./gather.ts";
import { type Liveness, processViews } from "./liveness.ts";
import type { Parentage } from "./parents.ts";
import { type AgentNames, namesOf, type Place } from "./shape.ts";
import { type Decision, decide, type OwnState, type ProcessView, type StatusVerdict } from "./status.ts";

/** The state of an agent: its status, what it waits for, and the basis of both. */
export interface AgentState extends Decision {
  /** What it waits for from a person; null if it waits for no person. */
  readonly waiting: WaitForPerson | null;
  /** Facts about its start and end in other agents' records, oldest first. */
  readonly statements: readonly ObservationOf<"lifecycle">[];
  /** Whether the process of its thread is running. */
  readonly process: ProcessView["is"];
}

export interface WaitForPerson extends StatedWait {
  /** A permission, an answer. */
  readonly for: string;
}

export const STALE_AFTER_MS = 10 * 60_000;

type InfoOf = (key: AgentKey) => GatheredAgent;
type Processes = (thread: AgentKey) => ProcessView;
type States = ReadonlyMap<AgentKey, AgentState>;

interface StateInput {
  readonly facts: readonly Observation[];
  readonly order: readonly Place[];
  readonly infoOf: InfoOf;
  readonly names: ReadonlyMap<AgentKey, AgentNames>;
  readonly parentage: Parentage;
  readonly copiedFrom: ReadonlyMap<AgentKey, AgentKey>;
  readonly lastActivity: ReadonlyMap<AgentKey, number>;
}

export interface StateOptions {
  readonly now: number;
  readonly liveness: Liveness;
  readonly staleAfterMs?: number;
}

/** Decides the status of every agent: first by itself, then by the agents below it and by the process of its thread. */
export function decideStates(
  input: StateInput,
  { now, liveness, staleAfterMs = STALE_AFTER_MS }: StateOptions,
): States {
  const { facts, order, infoOf, names, parentage, copiedFrom, lastActivity } = input;
  const { spawnCall, unseen } = parentage;
  const processes = processViews(facts, infoOf, liveness);
  const statementsOf = statementsByAgent(facts, parentage, copiedFrom);
  const label = (key: AgentKey) =>
    displayName({ ...namesOf(infoOf(key), spawnCall(key)), ...(names.get(key) as AgentNames) });
  const states = new Map<AgentKey, AgentState>();
  for (const { key, depth, children } of order) {
    const info = infoOf(key);
    const [statements, process] = [statementsOf.get(key) ?? [], processes(threadOf(key))];
    const { verdict, ending } = decide({
      own: lastState(info, children.map(infoOf)),
      statements,
      process,
      lastActivity: lastActivity.get(key) ?? spawnCall(key)?.at ?? null,
      activity: activityOf(info, children, label),
      missing: missingText(info, unseen.has(key), copiedFrom.get(key), depth === 0),
      now,
      staleAfterMs,
    });
    states.set(key, {
      verdict,
      ending,
      waiting: verdict.status === "running" ? waitOf(info) : null,
      statements,
      process: process.is,
    });
  }
  return withProcessWaits(withBackgroundWaits(states, order, parentage), infoOf, processes);
}

/**
 * The agent's last own state. A response that may have been complete was incomplete if a child began after it and
 * nothing followed: it contained the spawn call.
 */
function lastState({ own }: GatheredAgent, children: readonly GatheredAgent[]): OwnState | null {
  if (own === null || own.certain || own.state !== "answered" || own.at === null) return own;
  const { at } = own;
  return children.some((child) => (child.firstAt ?? at) > at) ? { ...own, state: "open", certain: true } : own;
}

/**
 * Lifecycle facts by agent. For a call that was copied with its thread, the agent's own records override the copy's
 * statements: the copy never ran the call.
 */
function statementsByAgent(
  facts: readonly Observation[],
  { agentsOfCall, spawnCall }: Parentage,
  copiedFrom: ReadonlyMap<AgentKey, AgentKey>,
) {
  const statements = new Map<AgentKey, ObservationOf<"lifecycle">[]>();
  for (const fact of facts) {
    if (fact.type !== "lifecycle") continue;
    const agents = typeof fact.of === "string" ? [fact.of] : agentsOfCall(fact.of.call);
    for (const agent of agents) {
      const caller = spawnCall(agent)?.speaker;
      const isOfCopy = copiedFrom.has(fact.speaker) && caller !== undefined && caller !== fact.speaker;
      addTo(statements, agent, isOfCopy ? { ...fact, yields: true } : fact);
    }
  }
  for (const list of statements.values()) list.sort(byTime);
  return statements;
}

function activityOf(info: GatheredAgent, children: readonly AgentKey[], label: (key: AgentKey) => string): string {
  const waiting = info.pending.filter((p) => p.spawns).length;
  const tools = info.pending.filter((p) => !p.spawns).map((p) => p.name);
  const awaited = waitOf(info);
  if (awaited !== null) return waitText(awaited);
  const [stated] = info.waits;
  if (stated !== undefined) return `waits ${stated.says}`;
  if (tools.length > 0) return `runs ${[...new Set(tools)].join(", ")}`;
  if (waiting > 0) {
    const [only] = children;
    return waiting === 1 && only !== undefined && children.length === 1
      ? `waits for its agent ${JSON.stringify(label(only))}`
      : `waits for ${plural(waiting, "agent")}`;
  }
  return "waits for the model";
}

const article = (word: string) => `${/^[aeiou]/.test(word) ? "an" : "a"} ${word}`;

const waitText = ({ for: what, says }: WaitForPerson) => `waits for ${article(what)} (${says})`;

/**
 * What the agent waits for from a person. Only waits that the product states: a reported request, or a tool whose only purpose is to ask a person. Any other
 * tool without a result may just be running.
 */
function waitOf({ pending, waits }: GatheredAgent): WaitForPerson | null {
  for (const { for: what, says, since, call } of waits) if (what !== null) return { for: what, says, since, call };
  const asking = pending.filter((call) => call.waitsFor !== null);
  const [first] = asking;
  return first === undefined
    ? null
    : { for: first.waitsFor ?? "", says: toolNames(asking), since: first.at, call: first.call };
}

const toolNames = (calls: readonly PendingCall[]) => [...new Set(calls.map((call) => call.name))].join(", ");

/**
 * Some products state that a process waits for a person, but not which agent. It is the agent with an open tool call if
 * there is only one; otherwise the thread is marked as waiting.
 */
function withProcessWaits(states: States, infoOf: InfoOf, processes: Processes): States {
  const after = new Map(states);
  const isOpen = ([key, { verdict, waiting }]: readonly [AgentKey, AgentState]) =>
    verdict.status === "running" && waiting === null && infoOf(key).pending.some((p) => !p.spawns);
  const open = [...states].filter(isOpen).map(([key]) => key);
  for (const [thread, agents] of Map.groupBy(open, threadOf)) {
    const process = processes(thread);
    if (process.is !== "alive" || process.waitingFor === null) continue;
    const only = agents.length === 1 ? agents[0] : undefined;
    const waits = only ?? thread;
    const state = states.get(waits);
    if (state?.verdict.status !== "running") continue;
    const tools = only === undefined ? [] : infoOf(only).pending.filter((p) => !p.spawns);
    const says =
      only !== undefined
        ? toolNames(tools)
        : `which of its ${agents.length} agents with open tool calls asked is not recorded`;
    const waiting = {
      for: process.waitingFor,
      says,
      since: tools[0]?.at ?? null,
      call: tools.length === 1 ? (tools[0]?.call ?? null) : null,
    };
    after.set(waits, { ...state, waiting, verdict: { ...state.verdict, activity: waitText(waiting) } });
  }
  return after;
}

function missingText(
  info: GatheredAgent,
  isUnseen: boolean,
  copiedFrom: AgentKey | undefined,
  isRoot: boolean,
): string {
  if (isUnseen) return "its parent spawned it, but none of its records were found";
  if (copiedFrom !== undefined) return "all its records are copies of another thread's";
  if (info.files.length > 0) return "its transcript is empty";
  return isRoot
    ? "agents name this thread, but its transcript is missing"
    : "its parent names it, but its transcript was not found";
}

/**
 * An agent whose own response is complete is still running while its live process waits for agents below it, since they
 * will revive it. Not after its end was reported to its parent: they then report to the thread instead.
 */
function withBackgroundWaits(states: States, order: readonly Place[], { isExternal }: Parentage): States {
  const after = new Map(states);
  const running = new Map<AgentKey, number>();
  for (const { key, children } of order.toReversed()) {
    const below = children.reduce((sum, c) => sum + (running.get(c) ?? 0), 0);
    const state = states.get(key) as AgentState;
    const waits =
      below > 0 &&
      state.verdict.status === "completed" &&
      state.verdict.statusSource !== "parent_rollout" &&
      state.process === "alive";
    if (waits) after.set(key, { ...state, verdict: waitsForBackground(below), ending: null });
    // An agent in a process of its own does not make its ancestors running.
    running.set(key, isExternal(key) ? 0 : below + (waits || state.verdict.status === "running" ? 1 : 0));
  }
  return after;
}

function waitsForBackground(below: number): StatusVerdict {
  const words = plural(below, "background agent");
  return {
    status: "running",
    statusSource: "inferred",
    statusReason: `its last response is complete, but ${words} below it still ${below === 1 ? "runs" : "run"} in its live process`,
    activity: `waits for ${words}`,
  };
}
