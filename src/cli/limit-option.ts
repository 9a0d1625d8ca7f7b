import { Failure } from "../app/failure.ts";
import { LIMIT_ACTIONS, LIMIT_NAMES, type LimitAction, type LimitName, type LimitSet } from "../core/guard/limits.ts";
import { nearest } from "../core/tools/nearest.ts";

export const LIMIT_FORM = "<limit>";
export const LIMIT_HELP = `a limit for the agents, such as agents=3 or cost_usd=5:warn; names: ${LIMIT_NAMES.join(", ")}; may be repeated`;

/** Collects the values of --limit. */
export const collectLimit = (text: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  text,
];

/** The limits of the command line; null if there are none. */
export function limitsGiven(texts: readonly string[] | undefined): LimitSet | null {
  if (texts === undefined || texts.length === 0) return null;
  return Object.fromEntries(texts.map(limitIn));
}

function limitIn(text: string): readonly [LimitName, { max: number; action: LimitAction }] {
  const [, word = "", number = "", action = "deny"] = /^([^=]*)=([^:]*)(?::(.*))?$/.exec(text) ?? [];
  const name = LIMIT_NAMES.find((one) => one === word);
  if (name === undefined) {
    const meant = nearest(word, LIMIT_NAMES);
    throw refused(text, meant === null ? `names: ${LIMIT_NAMES.join(", ")}` : `did you mean: --limit ${meant}=…`);
  }
  const max = number.trim() === "" ? Number.NaN : Number(number);
  if (!Number.isFinite(max) || max < 0) throw refused(text, "write a number after =, such as agents=3");
  const given = LIMIT_ACTIONS.find((one) => one === action);
  if (given === undefined) throw refused(text, `write ${LIMIT_ACTIONS.join(" or ")} after the colon`);
  return [name, { max, action: given }];
}

const refused = (text: string, next: string) =>
  new Failure("usage", `--limit ${JSON.stringify(text)}: not a limit`, [next]);
