import { count, duration, money, UNKNOWN } from "../tools/format.ts";
import type { LimitName } from "./limits.ts";

export const LIMIT_LABELS: Readonly<Record<LimitName, string>> = {
  agents: "agents",
  concurrent: "agents at once",
  depth: "depth",
  cost_usd: "cost",
  tokens: "tokens",
  minutes: "time",
};

const MINUTE_MS = 60_000;

/** The value of a limit in its unit. */
export function limitText(limit: LimitName, value: number | null): string {
  if (value === null) return UNKNOWN;
  if (limit === "cost_usd") return money(value);
  if (limit === "minutes") return duration(value * MINUTE_MS);
  return count(value);
}

const SCOPES = {
  all: () => "every thread",
  type: (name: string) => (name === "*" ? "agents of every type" : `agents of type ${name}`),
  project: (name: string) => `threads in ${name}`,
  product: (name: string) => `threads of ${name}`,
} as const;

export type LimitScope = keyof typeof SCOPES;

/** What a limit applies to. */
export const scopeText = (scope: LimitScope, name: string | null) => SCOPES[scope](name ?? "");
