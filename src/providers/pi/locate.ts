/** The type of a file in a folder of sessions, or in an extension's temp folder, by its path. */
export type PiFile =
  /** `session` is null if only the head of the file names it. */
  | { readonly is: "session"; readonly session: string | null; readonly stem: string }
  /**
   * pi-subagents: `<file of the parent>/<run>/run-<n>/session.jsonl`; its children are in `<run>/run-<n>/session/…`.
   */
  | {
      readonly is: "run";
      readonly session: string;
      readonly agent: string;
      readonly parent: string | null;
      readonly run: string | null;
    }
  /** @tintinweb/pi-subagents: `<folder>/<session>/tasks/<agent>.output`. */
  | { readonly is: "task"; readonly session: string; readonly agent: string };

const SESSION = /^\d{4}-\d\d-\d\dT[\dTZ-]+_(.+)$/;

export function locate(path: string): PiFile | null {
  const parts = path.split("/");
  const name = parts.at(-1) ?? "";
  const [, agent] = /^(.+)\.output$/.exec(name) ?? [];
  if (agent !== undefined && parts.at(-2) === "tasks" && parts.length >= 3)
    return { is: "task", session: parts.at(-3) ?? "", agent };
  // Inputs, outputs and copies of the agents' own files.
  if (!name.endsWith(".jsonl") || parts.includes("subagent-artifacts") || parts.includes("async-subagent-runs"))
    return null;
  const stem = name.slice(0, -".jsonl".length);
  const top = parts.slice(0, -1).findIndex((part) => SESSION.test(part));
  if (top < 0) return parts.length > 2 ? null : { is: "session", session: SESSION.exec(stem)?.[1] ?? null, stem };
  return runIn(SESSION.exec(parts[top] ?? "")?.[1] ?? "", parts.slice(top + 1), stem);
}

/** The run that a path names, and the run that contains it. */
function runIn(session: string, parts: readonly string[], stem: string): PiFile {
  const runs: { id: string; run: string }[] = [];
  parts.forEach((part, i) => {
    const [, number] = /^run-(\d+)$/.exec(part) ?? [];
    const run = parts[i - 1];
    if (number !== undefined && run !== undefined) runs.push({ id: number === "0" ? run : `${run}.${number}`, run });
  });
  const [last, above] = [runs.at(-1), runs.at(-2)];
  if (stem === "session" && last !== undefined)
    return { is: "run", session, agent: last.id, parent: above?.id ?? null, run: last.run };
  return { is: "run", session, agent: [...parts.slice(0, -1), stem].join("."), parent: last?.id ?? null, run: null };
}

/** The run of an absolute path, by which a parent names its child's file. */
export function runOfFile(file: string): Extract<PiFile, { is: "run" }> | null {
  const parts = file.split(/[\\/]/);
  const top = parts.findLastIndex((part) => SESSION.test(part));
  if (top < 0 || top >= parts.length - 2) return null;
  const found = runIn(
    SESSION.exec(parts[top] ?? "")?.[1] ?? "",
    parts.slice(top + 1),
    (parts.at(-1) ?? "").replace(/\.jsonl$/, ""),
  );
  return found.is === "run" ? found : null;
}
