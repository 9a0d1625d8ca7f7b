import type { FindingsOf } from "../../core/findings.ts";
import { asObject, asText, asWords, type JsonObject } from "../../core/json.ts";
import type { AgentDescribed } from "../../core/observation.ts";
import type { SourceFile } from "../../core/provider.ts";
import * as key from "./keys.ts";

/** Work of the product's own, which it does in threads that look like agents'. */
const OWN_WORK = new Set(["compact", "memory_consolidation"]);
/** Since 0.146 whoever writes a paginated thread holds a lock. */
const LOCKS_SINCE = [0, 146];

interface Origin {
  readonly parent: string | null;
  readonly path: string | null;
  readonly nickname: string | null;
  readonly type: string | null;
  readonly ownWork: string | null;
}

/** `session_meta`: what a thread says of itself in the first line of its file. */
export function introduce(out: FindingsOf, meta: JsonObject, id: string, file: SourceFile): Origin {
  const agent = key.thread(id);
  const origin = originOf(meta);
  const { parent, path, nickname, type, ownWork } = origin;
  out.addOfFile({ type: "agent-described", agent, file: { path: file.path, bytes: file.bytes, bornMs: file.bornMs ?? null } });
  const forkedFrom = parent === null ? asWords(meta.forked_from_id) : null;
  out.addOfFile({
    type: "agent-described",
    agent,
    ...words("cwd", meta.cwd),
    ...words("branch", asObject(meta.git)?.branch),
    ...words("productVersion", meta.cli_version),
    ...words("name", nickname),
    ...words("agentType", type),
    ...words("path", path),
    ...words("description", path),
    ...(forkedFrom === null ? {} : { forkedFrom: key.thread(forkedFrom) }),
    ...(ownWork === null ? {} : { internal: { why: `its source is ${ownWork}`, unlessSpawned: false } }),
    ...(file.isForeign !== true && meta.history_mode === "paginated" && isAtLeast(asText(meta.cli_version) ?? "") ? { marksProcess: true as const } : {}),
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
      type: "answers",
      agent,
      match: key.pathMatch(parent, path),
      rule: "agent_path",
      source: "parent_rollout",
      exclusive: false,
      says: `the call's result names ${path}, which is its path`,
    });
  return origin;
}

/** Where the parent's own file is lost, the root that both belong to still holds them together. Migration writes the thread itself there, which says nothing. */
function placeParent(out: FindingsOf, meta: JsonObject, id: string, parent: string) {
  const root = asWords(meta.session_id)?.toLowerCase() ?? null;
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

/** Who made it and what it is called, in the first line of its file or in Codex's list of threads. */
export function originOf(meta: JsonObject): Origin {
  const source = asObject(meta.source);
  const subagent = source?.subagent;
  const spawn = asObject(asObject(subagent)?.thread_spawn);
  const word = asWords(subagent) ?? asWords(asObject(subagent)?.other);
  const internal = source !== null && "internal" in source ? (asWords(source.internal) ?? "the product") : null;
  return {
    parent: (asWords(meta.parent_thread_id) ?? asWords(spawn?.parent_thread_id))?.toLowerCase() ?? null,
    path: asWords(meta.agent_path) ?? asWords(spawn?.agent_path),
    nickname: asWords(meta.agent_nickname) ?? asWords(spawn?.agent_nickname),
    type: asWords(meta.agent_role) ?? asWords(meta.agent_type) ?? asWords(spawn?.agent_role) ?? asWords(spawn?.agent_type) ?? word,
    ownWork: internal ?? (word !== null && OWN_WORK.has(word) ? word : null),
  };
}

/** A field of its own for what says something. */
export const words = <K extends keyof AgentDescribed>(field: K, value: unknown) => {
  const text = asWords(value);
  return text === null ? {} : { [field]: text };
};

function isAtLeast(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > (LOCKS_SINCE[0] ?? 0) || minor >= (LOCKS_SINCE[1] ?? 0);
}
