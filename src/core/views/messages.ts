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
  const messagesOf = messageBook(forest, root);
  return sortedMessages(subtreeOf(forest, root).map(messagesOf));
}

/**
 * The messages of each agent of a thread: those that it sent, and those that revived it. Together they are the messages
 * of the thread; a message that revives may occur twice, see `sortedMessages`.
 */
export function messageBook(forest: Forest, key: AgentKey): (key: AgentKey) => Message[] {
  let top = agentOf(forest, key);
  while (top.parent !== null) top = agentOf(forest, top.parent);
  const find = directory(subtreeOf(forest, top.key).map((one) => agentOf(forest, one)));
  return (one) => {
    const agent = agentOf(forest, one);
    const written = agent.mail.flatMap(({ to, at }): Message[] => {
      const other = typeof to === "string" ? forest.agents.get(to)?.uri : find(to.named, agent);
      return other === undefined || other === agent.uri ? [] : [{ from: agent.uri, to: other, at, revives: false }];
    });
    const revivals = agent.statements.flatMap(({ state, speaker, at }): Message[] => {
      const from = forest.agents.get(speaker)?.uri;
      return state !== "revived" || from === undefined || from === agent.uri
        ? []
        : [{ from, to: agent.uri, at, revives: true }];
    });
    const again = calledAgain(forest, agent).filter((message) => !revivals.some((other) => isOneOf(message, other)));
    return [...written, ...revivals, ...again];
  };
}

/** The messages of several agents, each once, oldest first. */
export function sortedMessages(lists: Iterable<readonly Message[]>): Message[] {
  const all = [...lists].flat();
  const reviving = all.filter(({ revives }) => revives);
  const written = all.filter((message) => !message.revives && !reviving.some((other) => isOneOf(message, other)));
  return [...written, ...reviving].sort((a, b) => (a.at ?? 0) - (b.at ?? 0));
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
