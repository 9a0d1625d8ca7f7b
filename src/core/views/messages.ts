import type { AgentKey, CallKey } from "../facts/ids.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../link/forest.ts";

/** A message from one agent to another. */
export interface Message {
  readonly from: string;
  readonly to: string;
  /** Epoch milliseconds. */
  readonly at: number | null;
  /** It revived an agent that had ended. */
  readonly revives: boolean;
}

/** All messages between agents of a tree, oldest first. The final response of an agent is not a message. */
export function messagesIn(forest: Forest, root: AgentKey): Message[] {
  const agents = subtreeOf(forest, root).map((key) => agentOf(forest, key));
  const find = directory(agents);
  const written = agents.flatMap((agent) =>
    agent.mail.flatMap(({ to, at }): Message[] => {
      const other = typeof to === "string" ? forest.agents.get(to)?.uri : find(to.named, agent);
      return other === undefined || other === agent.uri ? [] : [{ from: agent.uri, to: other, at, revives: false }];
    }),
  );
  const woken = agents.flatMap((agent) =>
    agent.statements.flatMap(({ state, speaker, at }): Message[] => {
      const from = forest.agents.get(speaker)?.uri;
      return state !== "revived" || from === undefined || from === agent.uri
        ? []
        : [{ from, to: agent.uri, at, revives: true }];
    }),
  );
  const again = agents
    .flatMap((agent) => calledAgain(forest, agent))
    .filter((message) => !woken.some((other) => isOneOf(message, other)));
  const reviving = [...woken, ...again];
  return [...written.filter((message) => !reviving.some((other) => isOneOf(message, other))), ...reviving].sort(
    (a, b) => (a.at ?? 0) - (b.at ?? 0),
  );
}

/** A later call to the same agent. */
function calledAgain(forest: Forest, agent: LinkedAgent): Message[] {
  const from = agent.parent === null ? undefined : forest.agents.get(agent.parent)?.uri;
  return from === undefined
    ? []
    : callsOf(agent)
        .slice(1)
        .map(({ at }) => ({ from, to: agent.uri, at, revives: true }));
}

/** The calls of its parent to this agent, oldest first. */
export function callsOf({
  evidence,
  parent,
}: LinkedAgent): readonly { readonly call: CallKey; readonly at: number | null }[] {
  const known = evidence.flatMap(({ call, at, confidence, parent: of }) =>
    call !== null && confidence === 1 && of === parent ? [{ call, at }] : [],
  );
  const oldestFirst = known.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0) || (a.call < b.call ? -1 : 1));
  return oldestFirst.filter(({ call }, i) => oldestFirst.findIndex((one) => one.call === call) === i);
}

/** Maximum time between a call and its result that describe the same message. */
const SAME_MS = 5_000;

const isOneOf = (a: Message, b: Message) =>
  a.from === b.from && a.to === b.to && Math.abs((a.at ?? 0) - (b.at ?? 0)) <= SAME_MS;

/**
 * Finds agents by the names they use for each other; a path may be relative to the agent that uses it. The path of
 * the thread itself is the first part of its agents' paths.
 */
function directory(agents: readonly LinkedAgent[]): (name: string, speaker: LinkedAgent) => string | undefined {
  const known = new Map<string, string>();
  const learn = (name: string | null | undefined, uri: string) => {
    if (name != null && !known.has(name)) known.set(name, uri);
  };
  for (const { path, agentId, uri } of agents) {
    learn(path, uri);
    learn(agentId, uri);
  }
  for (const { name, spawnCall, uri } of agents) learn(name ?? spawnCall?.name, uri);
  const root = agents[0];
  const rootPath = agents.flatMap(({ path }) => /^\/[^/]+/.exec(path ?? "")?.[0] ?? [])[0] ?? null;
  if (root?.path === null) learn(rootPath, root.uri);
  return (name, { path }) => known.get(name) ?? known.get(`${path ?? rootPath}/${name}`);
}
