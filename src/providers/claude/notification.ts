import type { LifecycleState } from "../../core/observation.ts";
import { between } from "./tags.ts";

/** How Claude Code tells a thread that a background task ended. It stands in a user record, in a queued attachment, or in the queue itself. */
export interface Notification {
  /** Several agents lost in one crash share one notification. */
  readonly tasks: readonly string[];
  readonly toolUse: string | null;
  readonly state: LifecycleState | null;
  readonly summary: string;
  readonly result: string | null;
  /** Background shells and workflows notify too. */
  readonly isAgent: boolean;
  /** Of a workflow: how many agents it had, and what they used together. */
  readonly agents: { readonly count: number; readonly tokens: number | null } | null;
}

const STATES: ReadonlyMap<string, LifecycleState> = new Map(
  Object.entries({ completed: "completed", failed: "errored", killed: "shutdown", stopped: "shutdown" } as const),
);

/** 2.0.65 to 2.0.76 call it an agent-notification, with an agent-id. */
export const isNotification = (text: string) => text.includes("<task-notification>") || text.includes("<agent-notification>");

export function* notificationsIn(text: string): Generator<Notification> {
  if (!isNotification(text)) return;
  for (const body of bodiesIn(text)) {
    // A result may quote another notification: only what stands before it is this one's own.
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

/** The usage stands behind the result. */
function agentsIn(tail: string): Notification["agents"] {
  const usage = between(tail, "<usage>", "</usage>") ?? "";
  const number = (name: string) => {
    const [, digits] = new RegExp(`<${name}>\\s*(\\d{1,15})\\s*</${name}>`).exec(usage) ?? [];
    return digits === undefined ? null : Number(digits);
  };
  const count = number("agent_count");
  return count === null || count === 0 ? null : { count: Math.min(count, MAX_AGENTS), tokens: number("subagent_tokens") };
}

/** More than any workflow may have. */
const MAX_AGENTS = 1_000;

/** What stands in each notification. Searched for by hand: for a lazy expression, thousands of tags that nobody closes are work without end. */
function* bodiesIn(text: string): Generator<string> {
  const kinds = ["task-notification", "agent-notification"].map((name) => ({ open: `<${name}>`, close: `</${name}>`, at: 0 }));
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
      // None of its kind is ever closed.
      next.at = -1;
    }
  }
}
