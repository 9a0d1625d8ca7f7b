import type { Named } from "../facts/display-name.ts";
import { type AgentKey, partsOf, threadOf } from "../facts/ids.ts";
import { type LimitUse, shareOf } from "../guard/limits.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../link/forest.ts";
import { namesOf } from "../link/shape.ts";
import { duration, percent } from "../tools/format.ts";
import { endOf } from "./record.ts";

type AlertKind = "waiting" | "silent" | "failed" | "limit";

/** What to report; null and false: nothing. */
export interface AlertRules {
  readonly waitingMinutes: number | null;
  readonly silentMinutes: number | null;
  readonly failed: boolean;
  readonly limitPercent: number | null;
}

export const hasAlerts = ({ waitingMinutes, silentMinutes, failed, limitPercent }: AlertRules) =>
  waitingMinutes !== null || silentMinutes !== null || failed || limitPercent !== null;

/** An event that a person should know about. */
export interface Alert {
  /** The same for the same event, whichever process finds it, and however often. */
  readonly key: string;
  readonly kind: AlertKind;
  readonly uri: string;
  readonly thread: string;
  /** The working folder. */
  readonly cwd: string | null;
  readonly at: number;
  /** What the agent is named after, whole: contains text of the thread, which is redacted before it is cut. */
  readonly named: Named;
  /** Its type, which contains no text of the thread. */
  readonly type: string;
  /** What happened, as the rest of a sentence; `detail` contains text of the thread. */
  readonly event: string;
  readonly detail: string | null;
}

const MINUTE_MS = 60_000;

/**
 * The alerts of one thread with its agents. `uses`: how much of its limits it has used. Failures before `since` are not
 * reported.
 */
export function alertsOf(
  forest: Forest,
  root: AgentKey,
  rules: AlertRules,
  { uses, since }: { readonly uses: readonly LimitUse[]; readonly since: number },
): Alert[] {
  const thread = agentOf(forest, root);
  const below = subtreeOf(forest, root).flatMap((key) => [
    ...agentAlerts(forest, agentOf(forest, key), thread, rules, since),
  ]);
  return [...below, ...limitAlerts(forest, thread, rules, uses)];
}

function* agentAlerts(
  forest: Forest,
  agent: LinkedAgent,
  thread: LinkedAgent,
  rules: AlertRules,
  since: number,
): Generator<Alert> {
  const { now } = forest;
  const about = (kind: AlertKind, at: number, event: string, detail: string | null): Alert => ({
    ...subjectOf(agent, thread),
    key: `${kind} ${agent.key} ${at}`,
    kind,
    at,
    event,
    detail,
  });
  const isRunning = agent.verdict.status === "running";
  const waitsSince = agent.waiting?.since ?? agent.lastActivity;
  if (isRunning && agent.waiting !== null && waitsSince !== null && isOver(rules.waitingMinutes, now - waitsSince))
    yield about("waiting", waitsSince, `has waited for a person for ${duration(now - waitsSince)}`, agent.waiting.says);
  const activeBelow = agent.children.some((child) => agentOf(forest, child).verdict.status === "running");
  const last = agent.lastActivity;
  if (isRunning && agent.waiting === null && !activeBelow && last !== null && isOver(rules.silentMinutes, now - last))
    yield about("silent", last, `has written nothing for ${duration(now - last)}`, null);
  const end = agent.verdict.status === "errored" ? (endOf(agent) ?? last) : null;
  if (rules.failed && end !== null && end >= since) yield about("failed", end, "failed", agent.verdict.statusReason);
}

const isOver = (minutes: number | null, ms: number) => minutes !== null && ms >= minutes * MINUTE_MS;

function limitAlerts(forest: Forest, thread: LinkedAgent, rules: AlertRules, uses: readonly LimitUse[]): Alert[] {
  const { limitPercent } = rules;
  if (limitPercent === null || thread.verdict.status !== "running") return [];
  return uses.flatMap(({ limit, whose, used, max }) => {
    const share = shareOf({ used, max });
    if (share === null || share * 100 < limitPercent) return [];
    const event = `has used ${percent(share)} of its limit of ${limit}`;
    const key = `limit ${thread.key} ${limit} ${whose ?? ""} ${max}`;
    return [{ ...subjectOf(thread, thread), key, kind: "limit", at: forest.now, event, detail: whose } as const];
  });
}

function subjectOf(agent: LinkedAgent, thread: LinkedAgent) {
  const named = { ...namesOf(agent, agent.spawnCall), agentId: agent.agentId, sessionId: agent.sessionId };
  const { provider } = partsOf(threadOf(agent.key));
  return {
    uri: agent.uri,
    thread: thread.uri,
    cwd: agent.cwd ?? thread.cwd,
    named,
    type: agent.parent === null ? `${provider} thread` : (named.type ?? "agent"),
  };
}
