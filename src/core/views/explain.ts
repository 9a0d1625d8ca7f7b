import { addUsage, NO_USAGE, totalTokens, type Usage } from "../facts/usage.ts";
import { criticalPath, type Life, lifeOf, sharesOf, untilLastEnd } from "./critical-path.ts";
import { contended } from "./findings/contended.ts";
import { context } from "./findings/context.ts";
import { endings } from "./findings/endings.ts";
import { FINDING_KINDS, type Finding, type Subject, type Surroundings } from "./findings/finding.ts";
import { looped } from "./findings/looped.ts";
import { refusals } from "./findings/refusals.ts";
import { repeated } from "./findings/repeated.ts";
import { silence } from "./findings/silence.ts";
import { unused } from "./findings/unused.ts";
import { waits } from "./findings/waits.ts";
import { AGENTS, type Span } from "./span.ts";
import { everyone, type StoryCore } from "./story.ts";

/** What went wrong or was wasted in a tree, and where its time and cost went. */
export interface Explanation {
  readonly uri: string;
  readonly agents: number;
  readonly findings: readonly Finding[];
  /** Own usage of agents that failed, were interrupted, or whose result was not used; each agent once. */
  readonly lost: Usage;
  readonly time: {
    /** The length of the critical path; null if no agent has times. */
    readonly criticalMs: number | null;
    /** The agents on the critical path, longest first. */
    readonly path: readonly PathShare[];
  };
  readonly cost: {
    readonly total: Usage;
    /** The agent itself, and each agent that it spawned with everything below: together the total. */
    readonly branches: readonly Branch[];
  };
}

interface PathShare {
  readonly uri: string;
  /** How long the agent was on the path: at most this would be saved if it took no time. */
  readonly ms: number;
  readonly share: number;
  /** How long it waited for other agents. */
  readonly waitedMs: number;
}

export interface Branch {
  readonly uri: string;
  readonly isOwn: boolean;
  readonly usage: Usage;
}

const LOST = new Set(["failed", "interrupted", "unused"]);

export interface ExplainInput extends Surroundings {
  readonly story: StoryCore;
  readonly spansOf: (uri: string) => readonly Span[];
  readonly statedOf: (uri: string) => Subject["stated"];
}

/** Computed from records alone. */
export function explainTree({ story, spansOf, statedOf, ...around }: ExplainInput): Explanation {
  const all = [...everyone(story)];
  const parents = new Map(all.flatMap((one) => one.children.map((child) => [child.record.uri, one] as const)));
  const findings = all.flatMap((one) => {
    const { uri } = one.record;
    const parent = parents.get(uri) ?? null;
    return findingsOf({ story: one, parent, spans: spansOf(uri), stated: statedOf(uri) }, around);
  });
  const order = (finding: Finding) => FINDING_KINDS.indexOf(finding.kind);
  const lost = new Set(findings.flatMap(({ kind, agents }) => (LOST.has(kind) ? agents : [])));
  return {
    uri: story.record.uri,
    agents: all.length,
    findings: findings.sort((a, b) => order(a) - order(b)),
    lost: all
      .filter(({ record }) => lost.has(record.uri))
      .map(({ record }) => record.usage.own)
      .reduce(addUsage, NO_USAGE),
    time: timeOf(story, all, spansOf, around.now),
    cost: { total: story.record.usage.subtree, branches: branchesOf(story) },
  };
}

const findingsOf = (subject: Subject, around: Surroundings): Finding[] => [
  ...endings(subject),
  ...refusals(subject),
  ...unused(subject),
  ...repeated(subject.story),
  ...contended(subject.story),
  ...looped(subject),
  ...waits(subject, around.now),
  ...silence(subject, around.now),
  ...context(subject, around),
];

function timeOf(
  story: StoryCore,
  all: readonly StoryCore[],
  spansOf: ExplainInput["spansOf"],
  now: number,
): Explanation["time"] {
  const lives = new Map<string, Life | undefined>(
    all.map(({ record }) => [record.uri, lifeOf(record, spansOf(record.uri), now)]),
  );
  const path = criticalPath(story.record.uri, untilLastEnd(story.record.uri, lives));
  const [first, last] = [path[0], path.at(-1)];
  const criticalMs = first === undefined || last === undefined ? null : last.to - first.from;
  const waitedIn = (uri: string) =>
    spansOf(uri).reduce(
      (sum, { kind, name, from, to }) =>
        sum + (kind === "wait" && name === AGENTS ? Math.max(0, (to ?? now) - from) : 0),
      0,
    );
  const shares = [...sharesOf(path)].map(([uri, ms]) => ({
    uri,
    ms,
    share: criticalMs === null || criticalMs === 0 ? 0 : ms / criticalMs,
    waitedMs: waitedIn(uri),
  }));
  return { criticalMs, path: shares.sort((a, b) => b.ms - a.ms) };
}

function branchesOf({ record, children }: StoryCore): Branch[] {
  const { own, internal } = record.usage;
  const itself = { uri: record.uri, isOwn: true, usage: internal === null ? own : addUsage(own, internal) };
  const below = children.map((child) => ({
    uri: child.record.uri,
    isOwn: false,
    usage: child.record.usage.subtree,
  }));
  return [itself, ...below.sort((a, b) => weight(b.usage) - weight(a.usage))];
}

const weight = (usage: Usage) => usage.costUsd ?? totalTokens(usage) / 1e9;
