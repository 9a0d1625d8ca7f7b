/** The type of a file in a Codex home, by its path. */
export type CodexFile =
  /** `name` stays the same if the file is archived or packed. */
  | { readonly is: "rollout"; readonly thread: string; readonly name: string; readonly packed: boolean }
  | { readonly is: "lock"; readonly thread: string }
  /** The environment of a process, at the time when it was written. */
  | { readonly is: "snapshot"; readonly thread: string; readonly at: number }
  /** Codex's own list of threads; the number increases with its schema. */
  | { readonly is: "state" };

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
/** After a revert a thread continues in another file, with an additional id after the thread's. */
const ROLLOUT = new RegExp(
  `^(?:sessions|archived_sessions)/(?:.+/)?(rollout-[^/]{1,200}?-(${UUID})(?:_[^/]{1,200})?)\\.jsonl(\\.zst)?$`,
  "i",
);
const LOCK = new RegExp(`^thread-writer-locks/(${UUID})\\.lock$`, "i");
const SNAPSHOT = new RegExp(`^shell_snapshots/(${UUID})\\.(\\d{13,19})\\.sh$`, "i");

const STATE = /^state(?:_\d+)?\.sqlite$/;

export function locate(path: string): CodexFile | null {
  if (STATE.test(path)) return { is: "state" };
  const [, name, thread, packed] = ROLLOUT.exec(path) ?? [];
  if (name !== undefined && thread !== undefined)
    return { is: "rollout", thread: thread.toLowerCase(), name, packed: packed !== undefined };
  const [, seen, nanoseconds] = SNAPSHOT.exec(path) ?? [];
  if (seen !== undefined && nanoseconds !== undefined)
    return { is: "snapshot", thread: seen.toLowerCase(), at: Number(nanoseconds.slice(0, 13)) };
  const [, locked] = LOCK.exec(path) ?? [];
  return locked === undefined ? null : { is: "lock", thread: locked.toLowerCase() };
}

/** Possible paths of a rollout: in the folder of its day or archived, packed or not. */
export function placesOf({ name }: Extract<CodexFile, { is: "rollout" }>): readonly string[] {
  const [, year, month, day] = /^rollout-(\d{4})-(\d{2})-(\d{2})T/.exec(name) ?? [];
  const folders = [...(day === undefined ? [] : [`sessions/${year}/${month}/${day}`]), "archived_sessions"];
  return folders.flatMap((folder) => [`${folder}/${name}.jsonl`, `${folder}/${name}.jsonl.zst`]);
}
