import type { AgentDescribed } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import * as key from "./keys.ts";

/** Sources of threads in which Codex does internal work. They look like those of agents. */
const OWN_WORK = new Set(["compact", "memory_consolidation"]);
/** Since 0.146 the process that writes a paginated thread locks it. */
const LOCKS_SINCE = [0, 146];

interface Origin {
  readonly parent: string | null;
  readonly path: string | null;
  readonly nickname: string | null;
  readonly type: string | null;
  readonly ownWork: string | null;
}

const INTERACTIVE: ReadonlySet<unknown> = new Set(["cli", "vscode"]);

/** `session_meta`: the first line of a file. */
export function introduce(out: FindingsOf, meta: JsonObject, id: string, file: SourceFile): Origin {
  const agent = key.thread(id);
  const origin = originOf(meta);
  const { parent, path, nickname, type, ownWork } = origin;
  out.addOfFile({
    type: "agent-described",
    agent,
    file: { path: file.path, bytes: file.bytes, bornMs: file.bornMs ?? null },
  });
  const forkedFrom = parent === null ? asNonBlank(meta.forked_from_id) : null;
  out.addOfFile({
    type: "agent-described",
    agent,
    ...textField("cwd", meta.cwd),
    ...textField("branch", asObject(meta.git)?.branch),
    ...textField("productVersion", meta.cli_version),
    ...textField("name", nickname),
    ...textField("agentType", type),
    ...textField("path", path),
    ...textField("description", path),
    ...(forkedFrom === null ? {} : { forkedFrom: key.thread(forkedFrom) }),
    ...(ownWork === null ? {} : { internal: { why: `its source is ${ownWork}`, unlessSpawned: false } }),
    ...(file.isForeign !== true && meta.history_mode === "paginated" && isAtLeast(asText(meta.cli_version) ?? "")
      ? { marksProcess: true as const }
      : {}),
  });
  const cwd = asNonBlank(meta.cwd);
  if (parent === null && cwd !== null)
    out.add({
      type: "thread-began",
      thread: agent,
      cwd,
      ...(INTERACTIVE.has(meta.source) ? { interactive: true } : {}),
    });
  if (parent === null || parent === id) return origin;
  const says = `the first line of its file names thread ${parent} as its parent`;
  out.add({
    type: "parent-named",
    child: agent,
    parent: key.thread(parent),
    rule: "session_meta.parent_thread_id",
    source: "child_rollout",
    confidence: 1,
    says,
  });
  placeParent(out, meta, id, parent);
  if (path !== null)
    out.add({
      type: "spawn-match",
      agent,
      match: key.pathMatch(parent, path),
      rule: "agent_path",
      source: "parent_rollout",
      exclusive: false,
      says: `the call's result names ${path}, which is its path`,
    });
  return origin;
}

/**
 * If the parent's file is missing, places the parent below the common root. Migrated files name the thread itself as
 * the root, which is ignored.
 */
function placeParent(out: FindingsOf, meta: JsonObject, id: string, parent: string) {
  const root = asNonBlank(meta.session_id)?.toLowerCase() ?? null;
  if (root === null || root === id || root === parent) return;
  const says = `thread ${id}, whose parent it is, belongs to session ${root}`;
  out.add({
    type: "parent-named",
    child: key.thread(parent),
    parent: key.thread(root),
    rule: "session_meta.session_id",
    source: "inferred",
    confidence: 0.3,
    says,
  });
}

/** The parent and names of a thread, from the first line of its file or from Codex's list of threads. */
export function originOf(meta: JsonObject): Origin {
  const source = asObject(meta.source);
  const subagent = source?.subagent;
  const spawn = asObject(asObject(subagent)?.thread_spawn);
  const word = asNonBlank(subagent) ?? asNonBlank(asObject(subagent)?.other);
  const internal = source !== null && "internal" in source ? (asNonBlank(source.internal) ?? "the product") : null;
  return {
    parent: (asNonBlank(meta.parent_thread_id) ?? asNonBlank(spawn?.parent_thread_id))?.toLowerCase() ?? null,
    path: asNonBlank(meta.agent_path) ?? asNonBlank(spawn?.agent_path),
    nickname: asNonBlank(meta.agent_nickname) ?? asNonBlank(spawn?.agent_nickname),
    type:
      asNonBlank(meta.agent_role) ??
      asNonBlank(meta.agent_type) ??
      asNonBlank(spawn?.agent_role) ??
      asNonBlank(spawn?.agent_type) ??
      word,
    ownWork: internal ?? (word !== null && OWN_WORK.has(word) ? word : null),
  };
}

/** The field, if the value is not blank. */
export const textField = <K extends keyof AgentDescribed>(field: K, value: unknown) => {
  const text = asNonBlank(value);
  return text === null ? {} : { [field]: text };
};

function isAtLeast(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > (LOCKS_SINCE[0] ?? 0) || minor >= (LOCKS_SINCE[1] ?? 0);
}
