/** What a file below a Codex home is, by its path alone. */
export type CodexFile =
  /** `name` stays the same wherever the file goes: it may be archived, and packed when it is old. */
  | { readonly is: "rollout"; readonly thread: string; readonly name: string; readonly packed: boolean }
  | { readonly is: "lock"; readonly thread: string }
  /** Codex's own list of threads; the number rises when its form changes. */
  | { readonly is: "state" };

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
/** After a revert a thread goes on in another file, which has an id of its own behind the thread's. */
const ROLLOUT = new RegExp(`^(?:sessions|archived_sessions)/(?:.+/)?(rollout-.+?-(${UUID})(?:_[^/]+)?)\\.jsonl(\\.zst)?$`, "i");
const LOCK = new RegExp(`^thread-writer-locks/(${UUID})\\.lock$`, "i");

const STATE = /^state(?:_\d+)?\.sqlite$/;

export function locate(path: string): CodexFile | null {
  if (STATE.test(path)) return { is: "state" };
  const [, name, thread, packed] = ROLLOUT.exec(path) ?? [];
  if (name !== undefined && thread !== undefined) return { is: "rollout", thread: thread.toLowerCase(), name, packed: packed !== undefined };
  const [, locked] = LOCK.exec(path) ?? [];
  return locked === undefined ? null : { is: "lock", thread: locked.toLowerCase() };
}

/** Where a rollout may lie: in the folder of the day it is called after, or archived; and packed, or not. */
export function placesOf({ name }: Extract<CodexFile, { is: "rollout" }>): readonly string[] {
  const [, year, month, day] = /^rollout-(\d{4})-(\d{2})-(\d{2})T/.exec(name) ?? [];
  const folders = [...(day === undefined ? [] : [`sessions/${year}/${month}/${day}`]), "archived_sessions"];
  return folders.flatMap((folder) => [`${folder}/${name}.jsonl`, `${folder}/${name}.jsonl.zst`]);
}
