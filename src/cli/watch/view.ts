import type { Permission } from "../../app/runs/permissions.ts";
import type { PermissionReply } from "../../core/ports/control.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import { isAtWork, SORTS, type Sort, type WatchRow } from "./rows.ts";

/** The state of the watch screen. */
export interface View {
  /** The agent under the cursor. */
  readonly cursor: string | null;
  /** Agents folded or unfolded by the user; others follow their status. */
  readonly folds: ReadonlyMap<string, boolean>;
  readonly sort: Sort;
  /** Updates are paused. */
  readonly isHeld: boolean;
  /** The agent shown in detail. */
  readonly open: string | null;
  /** Lines scrolled in the detail view. */
  readonly scroll: number;
  readonly isHelp: boolean;
  /** The agent that `a` was pressed on. Pressing `a` again confirms that it is continued. */
  readonly attaches: { readonly uri: string; readonly isConfirmed: boolean } | null;
  /** The permission request that `p` showed, and the answer that was pressed. */
  readonly permission: { readonly shown: Permission; readonly reply: PermissionReply | null } | null;
}

export const FIRST_VIEW: View = {
  cursor: null,
  folds: new Map(),
  sort: "running first",
  isHeld: false,
  open: null,
  scroll: 0,
  isHelp: false,
  attaches: null,
  permission: null,
};

/** Threads that have ended are folded, so that running ones stay visible. */
export const isFolded = (view: View, agent: AgentTree) =>
  view.folds.get(agent.uri) ?? (agent.parent === null && !isAtWork(agent));

export const HELP = [
  ["↑ ↓  j k", "move"],
  ["← →  h l  space", "fold, unfold"],
  ["enter  o", "show one agent; again to go back"],
  ["a", "continue this agent as a session of its own; again to confirm"],
  ["p", "show the permission request of this agent, and answer it"],
  ["s", "sort: running, newest, tokens, cost"],
  ["f", "pause and continue updates"],
  ["g G", "first, last"],
  ["q", "quit"],
] as const;

const ATTACH = "a";
/** Handled by the command, because the request must be fetched. */
export const PERMISSION = "p";

const REPLY_KEYS: ReadonlyMap<string, PermissionReply> = new Map([
  ["y", "once"],
  ["A", "always"],
  ["n", "reject"],
]);

/** The keys of the answers to a request. */
export const replyKeys = ({ replies }: Permission) => [...REPLY_KEYS].filter(([, reply]) => replies.includes(reply));

/** Only the keys of its answers answer a request. Scroll keys scroll; any other key closes it without an answer. */
function pressPermission(
  view: View,
  { shown }: NonNullable<View["permission"]>,
  key: string,
  page: number,
): View | null {
  const reply = new Map(replyKeys(shown)).get(key);
  if (reply !== undefined) return { ...view, permission: { shown, reply } };
  if (key === "\u0003") return null;
  const scrolled = pressInside(view, key, page).scroll;
  return scrolled !== view.scroll || SCROLL_KEYS.has(key)
    ? { ...view, scroll: scrolled }
    : { ...view, permission: null, scroll: 0 };
}

const SCROLL_KEYS = new Set(["\u001b[A", "\u001b[B", "\u001b[5~", "\u001b[6~", "j", "k", " "]);

/** The view after a key press; null to quit. `page` is the number of visible rows. */
export function press(view: View, key: string, rows: readonly WatchRow[], page: number): View | null {
  if (view.permission !== null) return pressPermission(view, view.permission, key, page);
  if (key === "\u0003" || key === "q")
    return view.open !== null || view.isHelp || view.attaches !== null ? leave(view, key) : null;
  if (view.isHelp) return { ...view, isHelp: false };
  if (view.attaches !== null)
    return { ...view, attaches: key === ATTACH ? { ...view.attaches, isConfirmed: true } : null };
  if (view.open !== null) return pressInside(view, key, page);
  const at = Math.max(
    0,
    rows.findIndex(({ agent }) => agent.uri === view.cursor),
  );
  const to = (index: number): View => ({
    ...view,
    cursor: rows[Math.max(0, Math.min(rows.length - 1, index))]?.agent.uri ?? null,
  });
  const agent = rows[at]?.agent;
  switch (key) {
    case "\u001b[A":
    case "k":
      return to(at - 1);
    case "\u001b[B":
    case "j":
      return to(at + 1);
    case "\u001b[5~":
      return to(at - page);
    case "\u001b[6~":
      return to(at + page);
    case "g":
    case "\u001b[H":
      return to(0);
    case "G":
    case "\u001b[F":
      return to(rows.length - 1);
    case " ":
      return agent === undefined ? view : folded(view, agent, !isFolded(view, agent));
    case "\u001b[D":
    case "h":
      return agent === undefined
        ? view
        : agent.children.length > 0 && !isFolded(view, agent)
          ? folded(view, agent, true)
          : { ...view, cursor: agent.parent ?? agent.uri };
    case "\u001b[C":
    case "l":
      return agent === undefined ? view : folded(view, agent, false);
    case "\r":
    case "o":
      return agent === undefined ? view : { ...view, cursor: agent.uri, open: agent.uri, scroll: 0 };
    case ATTACH:
      return agent === undefined ? view : attaching(view, agent.uri);
    case "s":
      return { ...view, sort: SORTS[(SORTS.indexOf(view.sort) + 1) % SORTS.length] ?? view.sort };
    case "f":
      return { ...view, isHeld: !view.isHeld };
    case "?":
      return { ...view, isHelp: true };
    default:
      return view;
  }
}

/** Ctrl-C always quits; q leaves the detail view first. */
const leave = (view: View, key: string): View | null => {
  if (key !== "q") return null;
  return view.attaches === null ? { ...view, open: null, isHelp: false } : { ...view, attaches: null };
};

const attaching = (view: View, uri: string): View => ({ ...view, cursor: uri, attaches: { uri, isConfirmed: false } });

function pressInside(view: View, key: string, page: number): View {
  const by = (lines: number): View => ({ ...view, scroll: Math.max(0, view.scroll + lines) });
  switch (key) {
    case "\u001b[A":
    case "k":
      return by(-1);
    case "\u001b[B":
    case "j":
      return by(1);
    case "\u001b[5~":
      return by(-page);
    case "\u001b[6~":
    case " ":
      return by(page);
    case "f":
      return { ...view, isHeld: !view.isHeld };
    case ATTACH:
      return view.open === null ? view : attaching(view, view.open);
    case "\r":
    case "o":
    case "\u001b":
    case "\u001b[D":
    case "h":
      return { ...view, open: null };
    default:
      return view;
  }
}

const folded = (view: View, { uri }: AgentTree, is: boolean): View => ({
  ...view,
  cursor: uri,
  folds: new Map(view.folds).set(uri, is),
});
