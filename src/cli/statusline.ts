/**
 * `retinue statusline`: the sub-agents of a session, for the product's own status line. A separate entry point, because
 * products run it several times a second.
 */
import { type ProviderStatusRequest, readInput, sessionTree, statusRequestIn } from "../app/hooks/session-tree.ts";
import { totalTokens } from "../core/facts/usage.ts";
import { count, duration, money, plural } from "../core/tools/format.ts";
import { asObject, parseJson, printJson } from "../core/tools/json.ts";
import type { AgentTree } from "../core/views/agent.ts";
import { oneLine } from "./render/printable.ts";
import { clip } from "./render/table.ts";
import { labelOf, walk } from "./render/tree.ts";

const WIDTH = 120;
/** Number of agents named on the line; the others are counted. */
const NAMED = 2;

export async function statusline(env: NodeJS.ProcessEnv, input: () => string | null = readInput): Promise<string> {
  try {
    const request = statusRequestIn(asObject(parseJson(input() ?? "")?.value) ?? {});
    const tree = request === null ? null : await sessionTree(request, env);
    if (request === null || tree === null) return "";
    return request.rows === null
      ? `${lineOf(tree, request.columns ?? (Number(env.COLUMNS) || WIDTH), request.costUsd)}\n`
      : rowsOf(tree, request);
  } catch {
    // Errors are not shown on a status line; `retinue doctor` lists them.
    return "";
  }
}

/** `● 2 agents: Leaf A (runs Bash), Leaf B · ✔ 3 done · ✖ 1 not completed · 40.1k tokens · $0.09` */
export function lineOf(tree: AgentTree, width: number, costUsd: number | null = null): string {
  const below = [...walk(tree)].slice(1);
  const running = below.filter(({ status }) => status === "running" || status === "pendingInit");
  const named = running
    .slice(0, NAMED)
    .map((agent) => `${labelOf(agent, 24)}${agent.activity === null ? "" : ` (${oneLine(agent.activity)})`}`);
  const rest = running.length - named.length;
  const cost = tree.usage.subtree.calls === 0 ? null : (tree.usage.subtree.costUsd ?? costUsd);
  const done = tree.counts.byStatus.completed ?? 0;
  const incomplete = below.length - running.length - done;
  const parts = [
    ...(running.length === 0
      ? []
      : [`● ${plural(running.length, "agent")}: ${named.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`]),
    ...(done === 0 ? [] : [`✔ ${done} done`]),
    ...(incomplete === 0 ? [] : [`✖ ${incomplete} not completed`]),
    ...(below.length === 0 ? ["no agents"] : []),
    `${count(totalTokens(tree.usage.subtree))} tokens`,
    ...(cost === null ? [] : [money(cost)]),
  ];
  return clip(parts.join(" · "), width);
}

/** One line of JSON for each row to which retinue adds information. */
function rowsOf(tree: AgentTree, { rows, columns }: ProviderStatusRequest): string {
  const known = new Map(
    [...walk(tree)].flatMap((agent) => (agent.agentId === null ? [] : [[agent.agentId, agent] as const])),
  );
  return (rows ?? [])
    .flatMap((id) => {
      const agent = known.get(id);
      return agent === undefined ? [] : [`${printJson({ id, content: clip(rowOf(agent), columns ?? WIDTH) })}\n`];
    })
    .join("");
}

function rowOf(agent: AgentTree): string {
  const { usage, counts, activity } = agent;
  const elapsed =
    agent.status === "running" && agent.startedAt !== null
      ? Date.now() - Date.parse(agent.startedAt)
      : agent.durationMs;
  return [
    labelOf(agent, 40),
    ...(activity === null ? [] : [oneLine(activity)]),
    duration(elapsed),
    `${count(totalTokens(usage.own))} tokens`,
    ...(usage.own.costUsd === null ? [] : [money(usage.own.costUsd)]),
    ...(counts.descendants === 0 ? [] : [`${plural(counts.descendants, "agent")} below`]),
  ].join(" · ");
}
