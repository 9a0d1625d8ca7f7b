/**
 * Derives the truth from the model's log: the parent, the usage and the end of each agent. Nothing here reads the
 * product's files.
 */
import type { AgentTruth, OptionalTruth, ThreadTruth, Usage } from "../support/judge.ts";
import { blocksOf, type Conversation, firstText, sessionOf, sortByAsker, toolUses } from "./conversations.ts";
import type { Exchange } from "./model.ts";
import { textsOf } from "./script.ts";
import { NO_USAGE, sum, usageOfCall } from "./usage.ts";
import type { ContentBlock } from "./wire.ts";

/**
 * By script: how it ended, if that does not follow from its last response. `untilSeen`: the status that is allowed
 * before that end is detected.
 */
export type Endings = Record<string, { status: string; why: string; untilSeen?: string }>;

export interface Truth {
  threads: ThreadTruth[];
  /** What the product records: all work, and warm-ups if a version has them. */
  recorded: Usage;
}

interface SpawnCall {
  id: string;
  prompt: string;
  caller: Conversation;
  /** The result that the caller received, once it did. */
  result: { text: string; isError: boolean } | null;
}

export function truthOf(exchanges: readonly Exchange[], endings: Endings = {}): Truth {
  const { conversations, warmUps } = sortByAsker(exchanges);
  const results = toolResults(exchanges);
  const sessions = [...Map.groupBy(conversations, ({ session }) => session).values()];
  const threads = sessions.map((members) => threadTruth(members, results, endings));
  for (const thread of threads) {
    const ownWarmUps = warmUps.filter((exchange) => sessionOf(exchange) === thread.root);
    thread.optionalAgents = [
      ...copiedAgents(thread, threads, exchanges),
      ...ownWarmUps.map(() => ({ prompt: "Warmup" })),
    ];
  }
  return { threads, recorded: sum([...conversations.map((one) => served(one.exchanges)), served(warmUps)]) };
}

function threadTruth(
  members: Conversation[],
  results: Map<string, SpawnCall["result"]>,
  endings: Endings,
): ThreadTruth {
  const calls = members.flatMap((caller) => spawnCalls(caller, results));
  const agents = members.filter(({ isMain }) => !isMain);
  const callOf = matchCalls(agents, calls);
  const idOf = (agent: Conversation): { agentId: string; agentIdNative: boolean } => {
    const call = callOf.get(agent);
    const named = agent.headerId ?? /agentId: ([A-Za-z0-9_-]+)/.exec(call?.result?.text ?? "")?.[1];
    if (named !== undefined) return { agentId: named, agentIdNative: true };
    if (call) return { agentId: call.id, agentIdNative: false };
    throw new Error(`an agent without a spawn call: ${firstText(agent.exchanges[0] as Exchange).slice(0, 200)}`);
  };
  const parentOf = (agent: Conversation): string | null => {
    if (agent.headerId !== null) return agent.headerParentId;
    const caller = callOf.get(agent)?.caller;
    return !caller || caller.isMain ? null : idOf(caller).agentId;
  };
  const rootTruths = members
    .filter(({ isMain }) => isMain)
    .map((main): AgentTruth => ({ agentId: null, parentAgentId: null, ...outcome(main, endings) }));
  const agentTruths = agents.map((agent): AgentTruth => {
    const call = callOf.get(agent);
    return {
      ...idOf(agent),
      parentAgentId: parentOf(agent),
      toolCallId: call?.id ?? null,
      prompt: call?.prompt ?? null,
      ...outcome(agent, endings),
    };
  });
  const claimed = new Set(callOf.values());
  const fruitless = calls.filter((call) => !claimed.has(call));
  const unexplained = fruitless.find((call) => !call.result?.isError);
  if (unexplained) throw new Error(`a call that neither failed nor started anybody: ${unexplained.prompt}`);
  const refusedSpawns = fruitless.map(({ id, prompt }) => ({ toolCallId: id, prompt }));
  return { root: members[0]?.session ?? "", agents: [...rootTruths, ...agentTruths], refusedSpawns };
}

/**
 * Which call started which agent: by the id or the report in the call's result, else by the prompt, which then must
 * match only one.
 */
function matchCalls(agents: Conversation[], calls: SpawnCall[]): Map<Conversation, SpawnCall> {
  const callOf = new Map<Conversation, SpawnCall>();
  const free = new Set(calls);
  const claim = (agent: Conversation, fits: (call: SpawnCall) => boolean): void => {
    if (callOf.has(agent)) return;
    const fitting = [...free].filter(fits);
    const [call] = fitting;
    if (!call) return;
    if (fitting.length > 1)
      throw new Error(`two calls fit one agent, give their reports different texts: ${call.prompt}`);
    callOf.set(agent, call);
    free.delete(call);
  };
  for (const agent of agents)
    if (agent.headerId) claim(agent, (call) => call.result?.text.includes(`agentId: ${agent.headerId}`) ?? false);
  for (const agent of agents) {
    const report = finalText(agent);
    if (report !== null && !agent.headerId) claim(agent, (call) => call.result?.text.includes(report) ?? false);
  }
  for (const agent of agents) {
    const [first] = agent.exchanges;
    if (first) claim(agent, (call) => call.prompt !== "" && firstText(first).includes(call.prompt));
  }
  return callOf;
}

function spawnCalls(caller: Conversation, results: Map<string, SpawnCall["result"]>): SpawnCall[] {
  const made = caller.exchanges
    .filter(({ finished }) => finished)
    .flatMap(({ answer }) => toolUses(answer?.content ?? []));
  // A call that continues an earlier agent starts none.
  const spawning = made.filter(
    ({ name, input }) => (name === "Agent" || name === "Task") && input?.resume === undefined,
  );
  return spawning.map(({ id = "", input }) => ({
    id,
    prompt: String(input?.prompt ?? ""),
    caller,
    result: results.get(id) ?? null,
  }));
}

function toolResults(exchanges: readonly Exchange[]): Map<string, SpawnCall["result"]> {
  const results = new Map<string, SpawnCall["result"]>();
  for (const { request } of exchanges) {
    for (const block of request.messages.flatMap((message) => blocksOf(message.content))) {
      if (block.type !== "tool_result" || block.tool_use_id === undefined) continue;
      results.set(block.tool_use_id, {
        text: textsOf(block.content ?? "").join("\n"),
        isError: block.is_error === true,
      });
    }
  }
  return results;
}

/**
 * A fork begins as a copy of another thread, so it names agents that ran there; they may be shown in both, but count
 * only there.
 */
function copiedAgents(thread: ThreadTruth, threads: ThreadTruth[], exchanges: readonly Exchange[]): OptionalTruth[] {
  const history = exchanges.filter((exchange) => sessionOf(exchange) === thread.root);
  const named = new Set(
    history.flatMap(({ request }) =>
      toolUses(request.messages.flatMap((message) => blocksOf(message.content))).map(({ id }) => id),
    ),
  );
  const elsewhere = threads.filter((other) => other !== thread).flatMap(({ agents }) => agents);
  return elsewhere
    .filter(({ toolCallId }) => toolCallId && named.has(toolCallId))
    .map(({ agentId, toolCallId }) => ({ agentId, toolCallId: toolCallId ?? null }));
}

function outcome(
  conversation: Conversation,
  endings: Endings,
): Pick<AgentTruth, "status" | "statusWhy" | "accept"> & Usage {
  const script = conversation.exchanges[0]?.script ?? "";
  const stated = endings[script];
  if (!stated && finalText(conversation) === null) throw new Error(`how did ${script} end? the scenario must say`);
  const { status, why, untilSeen } = stated ?? {
    status: "completed",
    why: "its last answer ended the turn",
    untilSeen: undefined,
  };
  return {
    status,
    statusWhy: why,
    ...(untilSeen && { accept: { status: [untilSeen] } }),
    ...served(conversation.exchanges),
  };
}

function finalText(conversation: Conversation): string | null {
  const last = conversation.exchanges.at(-1);
  if (!last?.finished || last.answer?.stop_reason !== "end_turn") return null;
  return textsOf(last.answer.content as ContentBlock[]).join("\n");
}

/** The usage of a response that was started and never finished is unknown. */
function served(exchanges: readonly Exchange[]): Usage {
  return sum(exchanges.map(({ answer, finished }) => (answer && finished ? usageOfCall(answer.usage) : NO_USAGE)));
}
