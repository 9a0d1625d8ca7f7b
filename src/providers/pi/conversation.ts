import type { AgentKey } from "../../core/facts/ids.ts";
import { NO_TOKENS } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import { AT_WORK } from "../kit/live-stream.ts";
import { type Context, Conversation, calledBy } from "../kit/pi/conversation.ts";
import { partOf } from "../kit/pi/keys.ts";
import type { Message, NestedCall, ToolCall, ToolResult, Used } from "../kit/pi/message.ts";
import { key } from "./keys.ts";
import { addSpawnCall, type End, endByStatus, endOfNested, type Outcome, outcomesIn, tasksOf } from "./spawns.ts";

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
    for (const [i, { prompt, agentType }] of tasks.entries()) {
      const child = this.#childOf(id, i);
      const part = out.part({ speaker: child, at, keys: [partOf(record, `${id}.${i}`)], order });
      part.add({
        type: "agent-described",
        agent: child,
        ...(prompt === null ? {} : { prompt }),
        ...(agentType === null ? {} : { agentType }),
      });
      part.add(namedBy(agent, child, "subagent.tasks", "its parent asks for it, among others"));
      part.add({
        type: "call-spawned",
        call,
        child,
        rule: "subagent.tasks",
        source: "parent_rollout",
        says: `task ${i + 1} of its parent's call`,
      });
    }
  }

  /**
   * Agents of the example extension have no ids: they are identified by their call, and by index if it spawns several.
   */
  #childOf(call: string, index: number): AgentKey {
    const id = call.replaceAll("/", "_");
    return key.agent(this.session, (this.#spawns.get(call)?.count ?? 1) === 1 ? id : `${id}.${index}`);
  }

  protected returned(out: FindingsOf, message: Message, result: ToolResult, context: Context) {
    // The times of nested calls are not recorded: none is earlier than the start of the script.
    const begun = context.at === null ? null : context.at - (result.durationMs ?? 0);
    for (const nested of result.nested) this.#nested(out, nested, { ...context, at: begun });
    const { call: id, details, isError } = result;
    const call = key.call(this.session, id);
    const outcomes = outcomesIn(details);
    const agent = result.tool === "Agent" || this.#spawns.has(id) ? asNonBlank(details?.agentId) : null;
    const ended = (of: AgentKey | { call: typeof call }, end: End) =>
      out.add({ type: "lifecycle", of, source: "parent_rollout", ...end });
    if (agent !== null) {
      const child = key.agent(this.session, agent);
      const agentType = asNonBlank(details?.subagentType);
      out.add({ type: "agent-described", agent: child, ...(agentType === null ? {} : { agentType }) });
      out.add({
        type: "call-spawned",
        call,
        child,
        rule: "details.agentId",
        source: "parent_rollout",
        says: `the result of its call names agent ${agent}`,
      });
      const end = endByStatus(asText(details?.status), asNonBlank(details?.error), null);
      if (end !== null) ended(child, end);
      return;
    }
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
    if (outcomes.length > 0) return;
    const count = this.#spawns.get(id)?.count ?? 1;
    const launched = asNonBlank(details?.asyncId);
    if (launched !== null)
      ended(
        { call },
        {
          state: "launched",
          says: `the result of its call shows that it runs in the background as ${launched}`,
          result: null,
        },
      );
    else if (isError) {
      const why = message.text.split("\n")[0] ?? "";
      const end: End = { state: "errored", says: `its call failed: ${why}`, result: null };
      // The agent has no such tool.
      if (count === 1 && /^Tool \S+ not found/.test(why)) out.add({ type: "call-refused", call, says: why });
      else if (count === 1) ended({ call }, end);
      else for (let i = 0; i < count; i += 1) ended(this.#childOf(id, i), end);
    }
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
    const ended =
      spawn.count === 1 ? [{ call }] : Array.from({ length: spawn.count }, (_, i) => this.#childOf(nested.id, i));
    for (const of of ended) out.add({ type: "lifecycle", of, source: "parent_rollout", ...end });
  }

  #outcome(out: FindingsOf, id: string, outcome: Outcome, isChain: boolean, context: Context) {
    const { index, agentType, prompt, end, messages, run, used } = outcome;
    const assumed = this.#childOf(id, index);
    const child = run === null ? assumed : key.agent(this.session, run.agent);
    const spawn = this.#spawns.get(id);
    // The agent assumed for the call is named differently by its own file.
    if (run !== null && (spawn?.count ?? 1) > 1)
      out.part({ speaker: assumed, keys: [] }).add({ type: "file-refused", agent: assumed });
    const says =
      run === null
        ? `result ${index + 1} of its parent's call is its own`
        : `the result of its parent's call names its file, of run ${run.agent}`;
    out.add({
      type: "agent-described",
      agent: child,
      ...(agentType === null ? {} : { agentType }),
      ...(prompt === null ? {} : { prompt }),
    });
    out.add(namedBy(context.agent, child, "details.results", says));
    out.add({
      type: "call-spawned",
      call: key.call(this.session, id),
      child,
      rule: "details.results",
      source: "parent_rollout",
      says,
    });
    if (end !== null) out.add({ type: "lifecycle", of: child, source: "parent_rollout", ...end });
    const inside = (what: string, at: number | null, number: number): Context => ({
      agent: child,
      at,
      record: partOf(context.record, `${id}.${index}/${what}`),
      order: context.order + number * 1e-6,
      depth: context.depth + 1,
    });
    if (messages.length > 0 && context.depth < MAX_DEPTH) {
      const { path, bytes, bornMs = null } = this.#file;
      const read = messages.map((json) => ({ json, at: timeOf(json) ?? context.at }));
      const begun = inside("begun", isChain ? (read[0]?.at ?? null) : (spawn?.at ?? read[0]?.at ?? null), 0);
      const part = out.part({ speaker: child, at: begun.at, keys: [begun.record], order: begun.order });
      part.add({ type: "agent-described", agent: child, file: { path, bytes, bornMs } });
      part.add(AT_WORK);
      for (const [i, { json, at }] of read.entries())
        if (json.role !== "system") this.message(out, json, inside(`${i}`, at, i + 1));
    }
    if (used !== null) this.#total(out, used, inside("used", context.at, 0));
  }

  /** Only a total is known: it is counted as one model call per turn. */
  #total(out: FindingsOf, used: NonNullable<Outcome["used"]>, { agent, at, record, order }: Context) {
    const part = out.part({ speaker: agent, at, keys: [record], order });
    for (let i = 0; i < Math.min(MAX_TURNS, used.turns); i += 1) {
      const one: Used = i === 0 ? used : { tokens: NO_TOKENS, costUsd: used.costUsd === null ? null : 0 };
      part.add(calledBy(one, partOf(record, `${i}`), "", used.model));
    }
  }
}

const timeOf = (message: JsonObject) => (asNonBlank(message.role) === null ? null : asTime(message.timestamp));

function namedBy(parent: AgentKey, child: AgentKey, rule: string, says: string) {
  return { type: "parent-named", child, parent, rule, source: "parent_rollout", confidence: 1, says } as const;
}
