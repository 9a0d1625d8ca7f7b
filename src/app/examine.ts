import { existsSync } from "node:fs";
import { partsOf } from "../core/ids.ts";
import { PROBLEMS, type Problem, type ProblemCode, type Severity } from "../core/problem.ts";
import { type Env, retinueHome } from "./home.ts";
import { keptPath, type Machine } from "./machine.ts";

export interface Examination {
  readonly home: string;
  readonly kept: { readonly path: string; readonly exists: boolean; readonly links: number };
  readonly roots: readonly {
    readonly provider: string;
    readonly product: string;
    readonly path: string;
    readonly exists: boolean;
    readonly files: number;
    readonly bytes: number;
  }[];
  /** Threads by the version of the product that wrote them last. */
  readonly versions: readonly { readonly provider: string; readonly version: string | null; readonly threads: number }[];
  readonly threads: number;
  readonly agents: number;
  /** Transcripts of the product's own work that are no agents. */
  readonly internal: number;
  readonly problems: readonly {
    readonly code: ProblemCode;
    readonly severity: Severity;
    readonly sentence: string;
    readonly count: number;
    readonly examples: readonly Problem[];
  }[];
}

const EXAMPLES = 3;
const SEVERITIES: readonly Severity[] = ["error", "data-loss", "info"];

/** What was found where, and what could not be read and why. */
export function examine(machine: Machine, env: Env): Examination {
  const { forest } = machine;
  const roots = forest.roots.flatMap((key) => forest.agents.get(key) ?? []);
  const byVersion = Map.groupBy(roots, (root) => `${partsOf(root.key).provider} ${root.productVersion ?? ""}`);
  const byCode = Map.groupBy(machine.problems, (problem) => problem.code);
  const manual = [...forest.agents.values()].filter((a) => a.evidence[0]?.source === "manual").length;
  return {
    home: retinueHome(env),
    kept: { path: keptPath(env), exists: existsSync(keptPath(env)), links: manual },
    roots: machine.roots.map(({ provider, ...root }) => ({ provider: provider.name, product: provider.product, ...root })),
    versions: [...byVersion.values()].map((list) => ({
      provider: partsOf((list[0] as (typeof roots)[0]).key).provider,
      version: list[0]?.productVersion ?? null,
      threads: list.length,
    })),
    threads: roots.length,
    agents: forest.agents.size - roots.length,
    internal: roots.reduce((sum, root) => sum + root.ownBehalf.length, 0),
    problems: [...byCode]
      .map(([code, list]) => ({
        code,
        severity: PROBLEMS[code][0],
        sentence: PROBLEMS[code][1],
        count: list.reduce((sum, p) => sum + (p.times ?? 1), 0),
        examples: list.slice(0, EXAMPLES),
      }))
      .sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || b.count - a.count),
  };
}
