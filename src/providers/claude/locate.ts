import type { Beside } from "../../core/ports/provider.ts";

/** The type of a file in a Claude Code configuration folder, by its path. */
export type ClaudeFile =
  /** The transcript of a thread. `thread` is null if the file name is not a session id; the records then name it. */
  | { readonly is: "thread"; readonly thread: string | null; readonly stem: string }
  /** Up to 2.1.1 agent files are next to the thread's; their records name the thread. */
  | {
      readonly is: "agent";
      readonly thread: string | null;
      readonly folder: string | null;
      readonly agent: string;
      readonly run: string | null;
    }
  | { readonly is: "agent-meta"; readonly thread: string; readonly agent: string }
  | { readonly is: "journal"; readonly thread: string; readonly run: string }
  | { readonly is: "workflow"; readonly thread: string; readonly run: string }
  | { readonly is: "process" };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const isSessionId = (id: string) => UUID.test(id);

/**
 * Agents are in a folder named after the session or the transcript, or in `subagents` next to it; up to 2.1.1 directly
 * next to it.
 */
export function besideTranscript(file: string, session: string): Beside {
  const stem = file.replace(/\.[^.]*$/, "");
  const thread = isSessionId(stem) ? stem : session;
  const own = new Set([stem, session, thread]);
  return {
    folders: [...own, "subagents"],
    inRoot(path) {
      if (path === file) return `projects/-/${thread}.jsonl`;
      const [first = "", ...rest] = path.split("/");
      if (rest.length === 0) return /^agent-.+\.jsonl$/.test(first) ? `projects/-/${first}` : null;
      if (first === "subagents") return `projects/-/${thread}/${path}`;
      return own.has(first) ? `projects/-/${thread}/${rest.join("/")}` : null;
    },
  };
}

export function locate(path: string): ClaudeFile | null {
  const parts = path.split("/");
  if (parts[0] === "sessions" && parts.length === 2)
    return /^\d+\.json$/.test(parts[1] ?? "") ? { is: "process" } : null;
  if (parts[0] !== "projects" || parts.length < 3) return null;
  const [, , first = "", second, ...deeper] = parts;
  const name = parts.at(-1) ?? "";
  if (parts.length === 3) {
    if (!first.endsWith(".jsonl")) return null;
    const stem = first.slice(0, -".jsonl".length);
    if (stem.startsWith("agent-"))
      return { is: "agent", thread: null, folder: null, agent: stem.slice("agent-".length), run: null };
    return { is: "thread", thread: isSessionId(stem) ? stem : null, stem };
  }
  // Copied transcripts may be in renamed folders; then only the records name the thread.
  const thread = isSessionId(first) ? first : null;
  if (second === "workflows" && thread !== null && deeper.length === 1 && /^wf_.*\.json$/.test(name))
    return { is: "workflow", thread, run: name.slice(0, -".json".length) };
  if (second !== "subagents") return null;
  const run = deeper[0] === "workflows" && deeper.length === 3 ? (deeper[1] ?? null) : null;
  if (name === "journal.jsonl" && run !== null && thread !== null) return { is: "journal", thread, run };
  const agent = /^agent-(.+?)(\.meta\.json|\.jsonl)$/.exec(name);
  if (agent?.[1] === undefined) return null;
  if (agent[2] === ".jsonl") return { is: "agent", thread, folder: first, agent: agent[1], run };
  return thread === null ? null : { is: "agent-meta", thread, agent: agent[1] };
}
