import type { LifecycleState } from "../../core/facts/observation.ts";
import { between } from "./tags.ts";

/**
 * How Claude Code notifies a thread of the end of a background task: in a user record, a queued attachment, or the
 * queue itself.
 */
export interface Notification {
  /** Agents lost in one crash share a notification. */
  readonly tasks: readonly string[];
  readonly toolUse: string | null;
  readonly state: LifecycleState | null;
  readonly summary: string;
  readonly result: string | null;
  /** False for background shells and workflows. */
  readonly isAgent: boolean;
  /** Of a workflow: number of agents and their total tokens. */
  readonly agents: { readonly count: number; readonly tokens: number | null } | null;
}

const STATES: ReadonlyMap<string, LifecycleState> = new Map(
  Object.entries({ completed: "completed", failed: "errored", killed: "shutdown", stopped: "shutdown" } as const),
);

/** 2.0.65 to 2.0.76 call it an agent-notification, with an agent-id. */
export const isNotification = (text: string) =>
  text.includes("<task-notification>") || text.includes("<agent-notification>");

export function* notificationsIn(text: string): Generator<Notification> {
  if (!isNotification(text)) return;
  for (const body of bodiesIn(text)) {
    // The result may quote another notification; only the part before it belongs to this one.
    const head = body.split("<result>", 1)[0] ?? "";
    const field = (name: string) => between(head, `<${name}>`, `</${name}>`)?.trim() ?? null;
    const tasks = [...head.matchAll(/<(task|agent)-id>([^<]*)<\/\1-id>/g)].flatMap(([, , id]) => id?.trim() || []);
    const summary = field("summary") ?? "";
    const result = body.includes("<result>")
      ? body.slice(body.indexOf("<result>") + 8, Math.max(body.lastIndexOf("</result>"), body.indexOf("<result>") + 8))
      : null;
    yield {
      tasks,
      toolUse: field("tool-use-id"),
      state: STATES.get(field("status") ?? "") ?? null,
      summary,
      result,
      isAgent: /^Agent\b|background agent/.test(summary),
      agents: agentsIn(body.slice(Math.max(0, body.lastIndexOf("</result>")))),
    };
  }
}

/** The usage follows the result. */
function agentsIn(tail: string): Notification["agents"] {
  const usage = between(tail, "<usage>", "</usage>") ?? "";
  const number = (name: string) => {
    const [, digits] = new RegExp(`<${name}>\\s*(\\d{1,15})\\s*</${name}>`).exec(usage) ?? [];
    return digits === undefined ? null : Number(digits);
  };
  const count = number("agent_count");
  return count === null || count === 0
    ? null
    : { count: Math.min(count, MAX_AGENTS), tokens: number("subagent_tokens") };
}

/** More than any workflow can have. */
const MAX_AGENTS = 1_000;

/**
 * The content of each notification. Searched with indexOf, because a lazy regular expression takes quadratic time on
 * thousands of unclosed tags.
 */
function* bodiesIn(text: string): Generator<string> {
  const kinds = ["task-notification", "agent-notification"].map((name) => ({
    open: `<${name}>`,
    close: `</${name}>`,
    at: 0,
  }));
  for (let from = 0; ; ) {
    for (const kind of kinds) if (kind.at >= 0 && kind.at <= from) kind.at = text.indexOf(kind.open, from);
    const [next] = kinds.filter((kind) => kind.at >= 0).sort((a, b) => a.at - b.at);
    if (next === undefined) return;
    const start = next.at + next.open.length;
    const end = text.indexOf(next.close, start);
    if (end >= 0) {
      yield text.slice(start, end);
      from = end + next.close.length;
    } else {
      // No closing tag of this kind follows.
      next.at = -1;
    }
  }
}
