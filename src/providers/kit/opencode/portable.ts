import type { Portable, Recognised } from "../../../core/ports/provider.ts";
import { isSessionId } from "./keys.ts";

/** How an export begins: the session's info precedes its messages. */
const BEGINNING = /^\uFEFF?\s*\{\s*"info"\s*:\s*\{/;

export const portableOf = (program: string, versions: RegExp): Portable => ({
  form: `a session as \`${program} export\` prints it, which begins with its info`,
  recognise(_name, head): Recognised | null {
    const text = new TextDecoder().decode(head);
    if (!BEGINNING.test(text)) return null;
    const info = text.slice(0, endOfInfo(text));
    const [id, parent] = [field(info, "id"), field(info, "parentID")];
    if (id === null || !isSessionId(id) || !versions.test(field(info, "version") ?? "")) return null;
    const thread = parent !== null && isSessionId(parent) ? parent : id;
    return {
      thread,
      agent: thread === id ? null : id,
      folder: `export/${thread}`,
      file: `${id}.json`,
      beside: [],
      parts: /\.json$/i,
    };
  },
});

/** Where the messages begin; they have their own ids and parents. */
function endOfInfo(text: string): number {
  const messages = text.search(/"messages"\s*:\s*\[/);
  return messages < 0 ? text.length : messages;
}

const field = (info: string, name: string) => new RegExp(`"${name}"\\s*:\\s*"([^"\\\\]*)"`).exec(info)?.[1] ?? null;
