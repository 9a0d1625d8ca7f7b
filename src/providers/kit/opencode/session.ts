import type { ToolLimits } from "../../../core/facts/observation.ts";
import type { FindingsOf } from "../../../core/ports/findings.ts";
import type { SourceFile } from "../../../core/ports/provider.ts";
import { AT_WORK } from "../live-stream.ts";
import { RECORD } from "../record.ts";
import type { Keys } from "./keys.ts";
import type { PermissionRule, SessionInfo } from "./shapes.ts";

/** `Search README (@explore subagent)`; a fork appends ` (fork #1)`. */
const TITLE = /^(.*?)\s*\(@([^()\s]+) subagent\)(?!.*\(@[^()\s]+ subagent\))/s;
/** The default title. */
const UNTITLED = /^(New|Child) session - \d{4}-/;
/** Sorts after all times of a session. */
export const LAST = 8.64e15;

/** `database` is the file that the product's process has open; null if there is none or it cannot be observed. */
export function readSession(
  key: Keys,
  out: FindingsOf,
  info: SessionInfo,
  file: SourceFile,
  database: string | null,
): void {
  const agent = key.session(info.id);
  const tools = limitsIn(info.permission);
  out.add({
    type: "agent-described",
    agent,
    kind: info.parent === null ? "main" : "subagent",
    file: { path: file.path, bytes: file.bytes },
    ...(info.version === null ? {} : { productVersion: info.version }),
    ...(info.directory === null ? {} : { cwd: info.directory }),
    ...(info.agent === null ? {} : { agentType: info.agent }),
    ...(tools === null ? {} : { tools }),
  });
  if (info.parent === null && info.directory !== null && info.created !== null)
    out.addAt(info.created, { type: "thread-began", thread: agent, cwd: info.directory });
  // Shows activity; a child has been given a task.
  out.add(info.parent === null ? RECORD : AT_WORK);
  // A child's first title is its task and type.
  const isNamed =
    info.title !== null && !UNTITLED.test(info.title) && !(info.parent !== null && TITLE.test(info.title));
  if (isNamed && info.title !== null) out.add({ type: "thread-titled", of: agent, title: info.title, rank: 0 });
  if (info.parent !== null) readParent(key, out, info, info.parent);
  if (database !== null)
    out.add({ type: "process-seen", thread: agent, process: { holds: database }, waitingFor: null });
}

function readParent(key: Keys, out: FindingsOf, { id, title }: SessionInfo, parent: string) {
  const says = `its session names ${parent} as its parent`;
  const child = key.session(id);
  out.add({
    type: "parent-named",
    child,
    parent: key.session(parent),
    rule: "session.parentID",
    source: "protocol",
    confidence: 1,
    says,
  });
  const [, description, type] = TITLE.exec(title ?? "") ?? [];
  if (description) out.add({ type: "agent-described", agent: child, description });
  // Other sources of the type take precedence.
  if (type !== undefined) out.addAt(LAST, { type: "agent-described", agent: child, agentType: type });
}

/** Rules about patterns do not restrict the tool as a whole. */
function limitsIn(rules: readonly PermissionRule[]): ToolLimits | null {
  const whole = new Map(rules.filter((rule) => rule.pattern === "*").map((rule) => [rule.permission, rule.action]));
  const toolsWith = (action: string) =>
    [...whole].filter(([name, of]) => of === action && name !== "*").map(([name]) => name);
  const denied = toolsWith("deny");
  const allowed = whole.get("*") === "deny" ? toolsWith("allow") : null;
  return denied.length === 0 && allowed === null ? null : { allowed, denied: denied.length === 0 ? null : denied };
}
