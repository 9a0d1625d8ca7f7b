import type { Tokens } from "../../facts/usage.ts";
import { count, money, percent, plural } from "../../tools/format.ts";
import type { CallCore, StoryCore } from "../story.ts";
import {
  evidenceOf,
  evidenceOfAgent,
  type Finding,
  type FindingEvidence,
  findingOf,
  lineOf,
  nameOf,
  type Subject,
  type Surroundings,
} from "./finding.ts";

/** All tokens that a request contains. */
export const contextOf = ({ inputTokens, cacheReadTokens, cacheWriteTokens }: Tokens) =>
  inputTokens + cacheReadTokens + cacheWriteTokens;

const LEAST_MISSED = 10_000;
const NEARLY_FULL = 0.8;

/** Compactions, contexts that were nearly full, and requests that lost the cache of the previous one. */
export function context({ story }: Subject, { windowOf }: Surroundings): Finding[] {
  const calls = story.calls.filter(({ isInternal, at }) => !isInternal && at !== null);
  const ordered = calls.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0));
  return [...compacted(story), ...nearlyFull(story, ordered, windowOf), ...missed(story, ordered)];
}

function compacted({ record, steps }: StoryCore): Finding[] {
  const own = steps.filter(({ event }) => event.kind !== "status" && event.kind !== "spawn");
  // A compaction may be several records in a row: its mark, and the summary.
  const found = own.filter(({ event }, i) => event.kind === "compaction" && own[i - 1]?.event.kind !== "compaction");
  if (found.length === 0) return [];
  const says = `the conversation of ${nameOf(record)} was compacted ${plural(found.length, "time")}: details of its earlier work were lost`;
  const evidence = found.map((step) => evidenceOf(step, lineOf(step.event.text)));
  return [findingOf("compacted", record, says, evidence)];
}

function nearlyFull(story: StoryCore, calls: readonly CallCore[], windowOf: Surroundings["windowOf"]): Finding[] {
  const filled = calls.flatMap((call) => {
    const window = windowOf(call.model, call.vendor);
    return window === null ? [] : [{ call, window, part: contextOf(call.tokens) / window }];
  });
  const most = filled.reduce((a, b) => (a === null || b.part > a.part ? b : a), null as (typeof filled)[number] | null);
  if (most === null || most.part < NEARLY_FULL) return [];
  const says = `a request of ${nameOf(story.record)} used ${percent(most.part)} of the context of ${most.call.model} (${count(most.window)} tokens)`;
  const call = evidenceOfCall(story, most.call, `${count(contextOf(most.call.tokens))} tokens in the request`);
  return [findingOf("context-full", story.record, says, [call])];
}

/** A request repeats the previous one. If that was cached, and this one read less from the cache, the cache was lost. */
function missed(story: StoryCore, calls: readonly CallCore[]): Finding[] {
  const found = calls.flatMap((call, i) => {
    const before = calls[i - 1];
    if (before === undefined || before.model !== call.model) return [];
    const wasCached = before.tokens.cacheReadTokens + before.tokens.cacheWriteTokens;
    const again = Math.min(wasCached, contextOf(call.tokens)) - call.tokens.cacheReadTokens;
    return again < LEAST_MISSED ? [] : [{ call, again }];
  });
  if (found.length === 0) return [];
  const again = found.reduce((sum, one) => sum + one.again, 0);
  const evidence = found
    .toSorted((a, b) => b.again - a.again)
    .map(({ call, again: tokens }) =>
      evidenceOfCall(
        story,
        call,
        `${count(tokens)} tokens were in the cache before; this call cost ${money(call.costUsd)}`,
      ),
    );
  const says = `${plural(found.length, "request")} of ${nameOf(story.record)} lost the cache and sent ${count(again)} cached tokens again`;
  return [findingOf("cache-missed", story.record, says, evidence)];
}

function evidenceOfCall({ record, steps }: StoryCore, { key, at }: CallCore, says: string): FindingEvidence {
  const step = steps.find(({ call }) => call === key);
  return step === undefined
    ? { ...evidenceOfAgent(record, says), at: at === null ? null : new Date(at).toISOString() }
    : evidenceOf(step, says);
}
