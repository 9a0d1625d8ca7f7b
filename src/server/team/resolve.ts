import { Failure } from "../../app/failure.ts";
import { checkTarget, parsedTarget, threadIdOf } from "../../app/query/resolve.ts";
import type { AgentPlace, NamedAgent, Reader } from "../../app/team/store.ts";
import { subtreeTest } from "../../core/views/shared-tree.ts";

/** Finds the agent that the input names among those of these owners, or throws a `Failure` with the reason. */
export async function resolveAgent(reader: Reader, owners: readonly string[], input: string): Promise<AgentPlace> {
  const exact = await reader.agentsAt(owners, input);
  if (exact.length > 0) return one(exact, input);
  checkTarget(input);
  const target = parsedTarget(input, () => true);
  if (target.is === "latest") {
    const filter = target.provider === null ? {} : { provider: target.provider };
    const [newest] = await reader.threads(owners, { ...filter, limit: 1 }, null);
    if (newest === undefined) throw new Failure("not_found", "no threads are shared with you yet", []);
    const { owner, thread } = newest;
    return target.agent === null
      ? { owner, thread, uri: thread }
      : below(reader, { owner, thread, uri: thread }, target.agent);
  }
  const found = (await reader.agentsNamed(owners, target.thread)).filter(
    ({ provider }) => target.provider === null || provider === target.provider,
  );
  // Ids that exist are accepted in any form.
  parsedTarget(input, (id) => id === target.agent || found.some((row) => [row.sessionId, row.agentId].includes(id)));
  const roots = fitting(
    found.filter(({ agentId }) => agentId === null),
    target.thread,
    ({ sessionId }) => sessionId,
  );
  const children = fitting(
    found.filter(({ provider, agentId }) => agentId !== null && threadIdOf(provider, agentId)),
    target.thread,
    ({ agentId }) => agentId,
  );
  const thread = one(roots.length > 0 ? roots : children, input);
  return target.agent === null ? thread : below(reader, thread, target.agent);
}

/** The agent with this id below another one. */
async function below(reader: Reader, { owner, thread, uri }: AgentPlace, id: string): Promise<AgentPlace> {
  const agents = await reader.agents({ owner, thread });
  const parents = new Map([...agents].map(([one, { record }]) => [one, record.parent]));
  const isInside = subtreeTest(parents, new Set([uri]));
  const inside = [...agents.values()]
    .map(({ record }) => record)
    .filter((record) => record.uri !== uri && isInside(record.uri));
  const found = fitting(inside, id, ({ agentId }) => agentId);
  if (found.length === 0)
    throw new Failure("not_found", `no agent ${id} in ${uri}`, [
      `GET /api/agents/${encodeURIComponent(uri)} lists its agents`,
    ]);
  return one(
    found.map((record) => ({ owner, thread, uri: record.uri })),
    id,
  );
}

const MIN_PREFIX = 6;

function fitting<T>(rows: readonly T[], id: string, nameOf: (row: T) => string | null): T[] {
  const exact = rows.filter((row) => nameOf(row) === id);
  if (exact.length > 0 || id.length < MIN_PREFIX) return exact;
  return rows.filter((row) => nameOf(row)?.toLowerCase().startsWith(id.toLowerCase()));
}

const SHOWN = 10;

function one<T extends AgentPlace | NamedAgent>(found: readonly T[], input: string): T {
  const [first, ...more] = found;
  if (first === undefined) throw noThread(input);
  if (more.length === 0) return first;
  const isShared = found.every(({ uri }) => uri === first.uri);
  throw new Failure(
    "not_found",
    isShared ? `several owners have ${first.uri}` : `ambiguous id: ${found.length} matches; use more characters`,
    isShared
      ? [`add ?owner= with one of ${found.map(({ owner }) => owner).join(", ")}`]
      : found.slice(0, SHOWN).map(({ uri }) => uri),
  );
}

/** The same for what does not exist and for what the viewer may not see. */
export const noThread = (input: string) =>
  new Failure("not_found", `no thread ${input}`, ["it does not exist, or is not shared with you"]);
