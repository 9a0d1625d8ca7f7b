/** The type of a file in a folder of sessions, by its path. */
export type OmpFile =
  /** `session` is null if only the header of the file names it. */
  | { readonly is: "session"; readonly session: string | null; readonly stem: string }
  /**
   * `<file of the session>/<agent>.jsonl`. Ids contain those of the agents above: `alpha.beta` is in the folder `alpha`.
   */
  | { readonly is: "agent"; readonly session: string; readonly agent: string; readonly parent: string | null }
  /** `__advisor.jsonl`, `__advisor.<name>.jsonl`: responses of a second model that reviews the turns of an agent. */
  | { readonly is: "advisor"; readonly session: string };

const SESSION = /^\d{4}-\d\d-\d\dT[\dTZ-]+_(.+)$/;

export function locate(path: string): OmpFile | null {
  const parts = path.split("/");
  const name = parts.at(-1) ?? "";
  if (!name.endsWith(".jsonl") || name.includes(".bak")) return null;
  const stem = name.slice(0, -".jsonl".length);
  const top = parts.slice(0, -1).findIndex((part) => SESSION.test(part));
  if (top < 0) return parts.length > 2 ? null : { is: "session", session: SESSION.exec(stem)?.[1] ?? null, stem };
  const session = SESSION.exec(parts[top] ?? "")?.[1] ?? "";
  if (/^__advisor(?:\.|$)/.test(stem)) return { is: "advisor", session };
  return { is: "agent", session, agent: stem, parent: top === parts.length - 2 ? null : (parts.at(-2) ?? null) };
}
