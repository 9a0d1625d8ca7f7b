import { idOf } from "./keys.ts";

/** The type of a file below the backend's folder, or below a folder of background tasks. */
export type LettaFile =
  | { readonly is: "messages" | "conversation"; readonly id: string }
  /** The output of one background task. */
  | { readonly is: "task" };

const FILE = /^conversations\/([\w-]+={0,2})\/(messages\.jsonl|conversation\.json)$/;
const TASK = /^task_\d+\.log$/;

export function locate(path: string): LettaFile | null {
  if (TASK.test(path)) return { is: "task" };
  const [, folder, name] = FILE.exec(path) ?? [];
  const id = folder === undefined ? null : conversationIn(folder);
  return id === null ? null : { is: name === "messages.jsonl" ? "messages" : "conversation", id };
}

/** Folders are named `conversation:<id>` or `default:<agent>`, in base64 for URLs. */
function conversationIn(folder: string): string | null {
  const text = decoded(folder);
  const [, kind, id] = /^(conversation|default):([\w.-]+)$/.exec(text ?? "") ?? [];
  return id === undefined ? null : idOf(id, kind === "default" ? "default" : id);
}

function decoded(folder: string): string | null {
  try {
    return atob(folder.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, ""));
  } catch {
    // Not base64: another product's folder.
    return null;
  }
}
