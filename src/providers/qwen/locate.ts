/** The type of a file in `~/.qwen`, by its path. */
export type QwenFile =
  | { readonly is: "session"; readonly session: string }
  | { readonly is: "agent" | "meta"; readonly session: string; readonly agent: string };

const SESSION = /^projects\/[^/]+\/chats\/([^/.][^/]*)\.jsonl$/;
const AGENT = /^projects\/[^/]+\/subagents\/([^/]+)\/agent-([^/]+?)\.(jsonl|meta\.json)$/;

export function locate(path: string): QwenFile | null {
  const session = SESSION.exec(path)?.[1];
  if (session !== undefined) return { is: "session", session };
  const [, of, agent, ending] = AGENT.exec(path) ?? [];
  if (of === undefined || agent === undefined) return null;
  return { is: ending === "jsonl" ? "agent" : "meta", session: of, agent };
}
