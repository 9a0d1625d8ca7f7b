/** The type of a file in `~/.gemini`, by its path. */
export type GeminiFile = { readonly shape: "lines" | "document" } & (
  | { readonly is: "session"; readonly short: string }
  /** Since 0.37 (2026-04): `chats/<session of the parent>/<agent>`. */
  | { readonly is: "agent"; readonly thread: string; readonly agent: string }
);

/** `.json` up to 0.38, one document per session; `.jsonl` since. */
const FILE = /^(.+)\.(jsonl?)$/;

export function locate(path: string): GeminiFile | null {
  const [top, , chats, first = "", second, ...deeper] = path.split("/");
  if (top !== "tmp" || chats !== "chats" || deeper.length > 0) return null;
  const [, stem, ending] = FILE.exec(second ?? first) ?? [];
  if (stem === undefined) return null;
  const shape = ending === "json" ? "document" : "lines";
  if (second !== undefined) return { shape, is: "agent", thread: first, agent: stem };
  const [, short] = /^session-.*-([^-]+)$/.exec(stem) ?? [];
  return short === undefined ? null : { shape, is: "session", short };
}
