/** Entries of the audit log in words. */
import { money } from "./format.ts";
import { oneLine } from "./text.ts";
import type { AuditEntry } from "./types.ts";

interface Action {
  /** For the choice of actions. */
  readonly label: string;
  /** What was done to the subject, which follows if it is a thread. */
  readonly text: (subject: string) => string;
}

const list = (what: string): Action => ({ label: `viewed ${what}`, text: () => `viewed ${what}` });
const viewed = (what: string): Action => ({ label: `viewed ${what}`, text: () => `viewed ${what} of` });

/** By the name of the action in the log. */
const ACTIONS: Readonly<Record<string, Action>> = {
  threads: list("the list of threads"),
  now: list("who runs what"),
  failures: list("the failures"),
  stats: list("the statistics"),
  tree: { label: "viewed a thread", text: () => "viewed the thread" },
  events: viewed("the events"),
  event: viewed("an event"),
  spans: viewed("the times"),
  messages: viewed("the messages"),
  why: viewed("the evidence"),
  explain: viewed("the findings"),
  files: viewed("the files"),
  live: {
    label: "followed live",
    text: (subject) => (subject === "" ? "followed all threads live" : "followed the thread"),
  },
  search: { label: "searched", text: (subject) => `searched for “${oneLine(subject, 120)}”` },
  session: { label: "signed in", text: () => "signed in" },
  "token-created": {
    label: "created a token",
    text: (subject) => {
      const [id = "", scope = "", ...owner] = subject.split(" ");
      return `created the token ${id} with scope ${scope} for ${owner.join(" ")}`;
    },
  },
  "token-revoked": { label: "revoked a token", text: (subject) => `revoked the token ${subject}` },
  unshared: {
    label: "ended sharing",
    text: (subject) => {
      const [owner = "", teams = ""] = subject.split(" ");
      return `ended sharing the threads of ${owner} with ${teams.replaceAll(",", ", ")}`;
    },
  },
  "budget-set": {
    label: "set a budget",
    text: (subject) => {
      const at = subject.lastIndexOf(" ");
      return `set the budget of ${budgetOf(subject.slice(0, at))} to ${money(Number(subject.slice(at + 1)))} a month`;
    },
  },
  "budget-removed": { label: "removed a budget", text: (subject) => `removed the budget of ${budgetOf(subject)}` },
  pruned: {
    label: "dropped old events",
    text: (subject) => `dropped the events of ${subject.replace(/events_(\d+)_(\d+)/g, "$1-$2").replaceAll(" ", ", ")}`,
  },
};

/** `owner ann` is `ann`; `team core` and `project shop` stay. */
const budgetOf = (subject: string) => subject.replace(/^owner /, "");

export const actionLabel = (action: string) => ACTIONS[action]?.label ?? action;

/** What the entry says. `thread` is the thread that it is about; null if it is not about one. */
export function auditText({ action, subject }: AuditEntry): { readonly text: string; readonly thread: string | null } {
  const known = ACTIONS[action];
  const thread = subject?.includes("://") === true && action !== "search" ? subject : null;
  return { text: known?.text(subject ?? "") ?? [action, thread === null ? subject : ""].join(" ").trim(), thread };
}
