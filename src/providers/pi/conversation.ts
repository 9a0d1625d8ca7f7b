import type { AgentKey, CallKey } from "../../core/facts/ids.ts";
import { NO_TOKENS } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import { AT_WORK } from "../kit/live-stream.ts";
import { type Context, Conversation, modelCall } from "../kit/pi/conversation.ts";
import { partOf } from "../kit/pi/keys.ts";
import type { Message, NestedCall, ToolCall, ToolResult, Used } from "../kit/pi/message.ts";
import { key } from "./keys.ts";
import {
  addSpawnCall,
  childId,
  describeTask,
  type End,
  endByStatus,
  endOfNested,
  type Outcome,
  outcomesIn,
  spawnedById,
  spawnedByTask,
  tasksOf,
} from "./spawns.ts";

/** A spawn call: its time, and its number of agents. */
interface Spawn {
  readonly at: number | null;
  readonly count: number;
}

interface Memory {
  readonly spawns: readonly (readonly [string, Spawn])[];
  readonly stated: readonly string[];
}

/** Maximum nesting depth of children. */
const MAX_DEPTH = 20;
/** Maximum number of turns that a total is split into. */
const MAX_TURNS = 1000;

/** Reads the spawn calls of extensions in messages, and the agents in their results. */
export class PiConversation extends Conversation {
  readonly #file: SourceFile;
  readonly #spawns: Map<string, Spawn>;
  readonly #stated: Set<string>;

  constructor(session: string, file: SourceFile, saved?: unknown) {
    super(key, session);
    const memory = saved as Memory | undefined;
    this.#file = file;
    this.#spawns = new Map(memory?.spawns);
    this.#stated = new Set(memory?.stated);
  }

  save(): Memory {
    return { spawns: [...this.#spawns], stated: [...this.#stated] };
  }

  once(what: string): boolean {
    const isNew = !this.#stated.has(what);
    this.#stated.add(what);
    return isNew;
  }

  protected isOfAgents({ details }: ToolResult): boolean {
    return asList(details?.results).some((result) => asObject(result) !== null);
  }

  protected called(out: FindingsOf, spawn: ToolCall, { agent, at, record, order }: Context) {
    const { id } = spawn;
    const tasks = tasksOf(spawn);
    if (tasks === null) return;
    const call = key.call(this.session, id);
    this.#spawns.set(id, { at, count: tasks.length });
    addSpawnCall(out, this.session, spawn, tasks);
    if (tasks.length === 1) return;
    // One call for several agents: each is stated at once, whatever happens to the call.
    for (const [i, task] of tasks.entries()) {
      const child = this.#childOf(id, i);
      const part = out.part({ speaker: child, at, keys: [partOf(record, `${id}.${i}`)], order });
      part.add(describeTask(child, task));
      part.add(namedBy(agent, child, "subagent.tasks", "its parent's call spawns it, among others"));
      part.add(spawnedByTask(call, child, i, "parent_rollout"));
    }
  }

  #childOf(call: string, index: number): AgentKey {
    return key.agent(this.session, childId(call, index, this.#spawns.get(call)?.count ?? 1));
  }

  protected returned(out: FindingsOf, message: Message, result: ToolResult, context: Context) {
    // The times of nested calls are not recorded: none is earlier than the start of the script.
    const begun = context.at === null ? null : context.at - (result.durationMs ?? 0);
    for (const nested of result.nested) this.#nested(out, nested, { ...context, at: begun });
    const { call: id, details, isError } = result;
    const agent = result.tool === "Agent" || this.#spawns.has(id) ? asNonBlank(details?.agentId) : null;
    if (agent !== null) return this.#named(out, key.call(this.session, id), agent, details);
    const outcomes = outcomesIn(details);
    if (!this.#spawns.has(id) && outcomes.every((outcome) => outcome.messages.length === 0 && outcome.run === null))
      return;
    const mode = asText(details?.mode);
    // The record of the call may be missing.
    if (!this.#spawns.has(id))
      this.#spawns.set(id, {
        at: null,
        count: mode === "parallel" || mode === "chain" ? Math.max(2, outcomes.length) : outcomes.length,
      });
    for (const outcome of outcomes) this.#outcome(out, id, outcome, mode === "chain", context);
    if (outcomes.length === 0) this.#endedWithoutOutcome(out, id, asNonBlank(details?.asyncId), isError, message.text);
  }

  /** The result names the agent, which has its own file (@tintinweb/pi-subagents). */
  #named(out: FindingsOf, call: CallKey, agent: string, details: JsonObject | null) {
    const child = key.agent(this.session, agent);
    const agentType = asNonBlank(details?.subagentType);
    out.add({ type: "agent-described", agent: child, ...(agentType === null ? {} : { agentType }) });
    out.add(spawnedById(call, child, agent, "parent_rollout"));
    const end = endByStatus(asText(details?.status), asNonBlank(details?.error), null);
    if (end !== null) ended(out, child, end);
  }

  /** The call was launched in the background as `run`, or it failed. */
  #endedWithoutOutcome(out: FindingsOf, id: string, run: string | null, isError: boolean, text: string) {
    const call = key.call(this.session, id);
    if (run !== null) {
      const says = `the result of its call shows that it runs in the background as ${run}`;
      return ended(out, { call }, { state: "launched", says, result: null });
    }
    if (!isError) return;
    const count = this.#spawns.get(id)?.count ?? 1;
    const why = text.split("\n")[0] ?? "";
    const end: End = { state: "errored", says: `its call failed: ${why}`, result: null };
    // The agent has no such tool.
    if (count === 1 && /^Tool \S+ not found/.test(why)) out.add({ type: "call-refused", call, says: why });
    else if (count === 1) ended(out, { call }, end);
    else for (let i = 0; i < count; i += 1) ended(out, this.#childOf(id, i), end);
  }

  /** A spawn call of a script (codemode). Only the call and its status are recorded, when the script ends. */
  #nested(out: FindingsOf, nested: NestedCall, context: Context) {
    const { agent, at, record, order } = context;
    const begun = { ...context, record: partOf(record, nested.id) };
    this.called(out.part({ speaker: agent, at, keys: [begun.record], order }), nested, begun);
    const spawn = this.#spawns.get(nested.id);
    const end = spawn === undefined ? null : endOfNested(nested, tasksOf(nested)?.[0]?.background === true);
    if (spawn === undefined || end === null) return;
    const call = key.call(this.session, nested.id);
    const agents =
      spawn.count === 1 ? [{ call }] : Array.from({ length: spawn.count }, (_, i) => this.#childOf(nested.id, i));
    for (const of of agents) ended(out, of, end);
  }

  #outcome(out: FindingsOf, id: string, outcome: Outcome, isChain: boolean, context: Context) {
    const { index, end, messages, run, used } = outcome;
    const assumed = this.#childOf(id, index);
    const child = run === null ? assumed : key.agent(this.session, run.agent);
    // The agent assumed for the call is named differently by its own file.
    if (run !== null && (this.#spawns.get(id)?.count ?? 1) > 1)
      out.part({ speaker: assumed, keys: [] }).add({ type: "file-refused", agent: assumed });
    const says =
      run === null
        ? `result ${index + 1} of its parent's call is its own`
        : `the result of its parent's call names its file, of run ${run.agent}`;
    out.add(describeTask(child, outcome));
    out.add(namedBy(context.agent, child, "details.results", says));
    const call = key.call(this.session, id);
    out.add({ type: "call-spawned", call, child, rule: "details.results", source: "parent_rollout", says });
    if (end !== null) ended(out, child, end);
    const inside = (what: string, at: number | null, number: number): Context => ({
      agent: child,
      at,
      record: partOf(context.record, `${id}.${index}/${what}`),
      order: context.order + number * 1e-6,
      depth: context.depth + 1,
    });
    if (messages.length > 0 && context.depth < MAX_DEPTH) {
      const read = messages.map((json) => ({ json, at: timeOf(json) ?? context.at }));
      const first = read[0]?.at ?? null;
      this.#begin(out, inside("begun", isChain ? first : (this.#spawns.get(id)?.at ?? first), 0));
      for (const [i, { json, at }] of read.entries())
        if (json.role !== "system") this.message(out, json, inside(`${i}`, at, i + 1));
    }
    if (used !== null) this.#total(out, used, inside("used", context.at, 0));
  }

  /** The beginning of an agent whose messages are in its parent's file. */
  #begin(out: FindingsOf, { agent, at, record, order }: Context) {
    const { path, bytes, bornMs = null } = this.#file;
    const part = out.part({ speaker: agent, at, keys: [record], order });
    part.add({ type: "agent-described", agent, file: { path, bytes, bornMs } });
    part.add(AT_WORK);
  }

  /** Only a total is known: it is counted as one model call per turn. */
  #total(out: FindingsOf, used: NonNullable<Outcome["used"]>, { agent, at, record, order }: Context) {
    const part = out.part({ speaker: agent, at, keys: [record], order });
    for (let i = 0; i < Math.min(MAX_TURNS, used.turns); i += 1) {
      const one: Used = i === 0 ? used : { tokens: NO_TOKENS, costUsd: used.costUsd === null ? null : 0 };
      part.add(modelCall(one, partOf(record, `${i}`), "", used.model));
    }
  }
}

const timeOf = (message: JsonObject) => (asNonBlank(message.role) === null ? null : asTime(message.timestamp));

const ended = (out: FindingsOf, of: AgentKey | { readonly call: CallKey }, end: End) =>
  out.add({ type: "lifecycle", of, source: "parent_rollout", ...end });

function namedBy(parent: AgentKey, child: AgentKey, rule: string, says: string) {
  return { type: "parent-named", child, parent, rule, source: "parent_rollout", confidence: 1, says } as const;
}
