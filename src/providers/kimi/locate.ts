/** The type of a file below the folder of Kimi Code or of the older Kimi CLI, by its path. */
export type KimiFile =
  | { readonly is: "state"; readonly session: string }
  | { readonly is: "wire"; readonly session: string; readonly agent: string }
  /** Kimi CLI (Python): `sessions/<hash>/<session>/[subagents/<agent>/]`. */
  | { readonly is: "old-wire" | "old-meta"; readonly session: string; readonly agent: string };

const STATE = /^sessions\/wd_[^/]+\/([^/]+)\/state\.json$/;
const WIRE = /^sessions\/wd_[^/]+\/([^/]+)\/agents\/([^/]+)\/wire\.jsonl$/;
const OLD = /^sessions\/(?!wd_)[^/]+\/([^/]+)\/(?:subagents\/([^/]+)\/)?(wire\.jsonl|meta\.json)$/;

export function locate(path: string): KimiFile | null {
  const state = STATE.exec(path)?.[1];
  if (state !== undefined) return { is: "state", session: state };
  const [, session, agent] = WIRE.exec(path) ?? [];
  if (session !== undefined && agent !== undefined) return { is: "wire", session, agent };
  const [, old, child, file] = OLD.exec(path) ?? [];
  if (old === undefined || (file === "meta.json" && child === undefined)) return null;
  return { is: file === "meta.json" ? "old-meta" : "old-wire", session: old, agent: child ?? "main" };
}
