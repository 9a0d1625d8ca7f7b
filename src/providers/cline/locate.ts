/** The type of a file below the data folder, by its path. `agent` is null for the session itself. */
export type ClineFile =
  | { readonly is: "database" }
  | { readonly is: "session"; readonly session: string }
  | { readonly is: "messages"; readonly session: string; readonly agent: string | null };

const FILE = /^sessions\/([^/]+)\/([^/]+?)(\.messages)?\.json$/;

export function locate(path: string): ClineFile | null {
  if (path === "db/sessions.db") return { is: "database" };
  const [, session, name, messages] = FILE.exec(path) ?? [];
  if (session === undefined || name === undefined) return null;
  if (messages === undefined) return name === session ? { is: "session", session } : null;
  return { is: "messages", session, agent: name === session ? null : agentIn(name) };
}

const SUB_AGENT = /^agent_\d+_\w+$/;
/** The files of a teammate: one for each task. */
const MATE = /^(.+)__.{6}$/;
const TASK = "teamtask__";

/**
 * The ids in the id of a row: `<session>`, `<session>__<agent>`, or `<session>__teamtask__<teammate>__<6 characters>`
 * for each task of a teammate.
 */
export function idsIn(row: string): {
  readonly session: string;
  readonly agent: string | null;
  readonly isMate: boolean;
} {
  const end = row.indexOf("__");
  if (end <= 0) return { session: row, agent: null, isMate: false };
  const [session, rest] = [row.slice(0, end), row.slice(end + 2)];
  const isMate = rest.startsWith(TASK);
  return { session, agent: isMate ? mateIn(rest.slice(TASK.length)) : rest || null, isMate };
}

/** The agent of a file. */
export const agentIn = (name: string) => (SUB_AGENT.test(name) ? name : mateIn(name));

const mateIn = (name: string) => MATE.exec(name)?.[1] ?? name;
