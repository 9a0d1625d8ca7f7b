import { hash } from "../tools/hash.ts";
import { singleSpaced } from "../tools/spaces.ts";
import { type RecordKey, recordKey } from "./ids.ts";

/**
 * Tokens of one or several model calls. `cacheWrite1hTokens` is part of `cacheWriteTokens`; `inputTokens` excludes
 * caches.
 */
export interface Tokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly cacheWrite1hTokens: number;
}

export interface Usage extends Tokens {
  readonly calls: number;
  /** Null if one model has no known price, because the sum would be too low. */
  readonly costUsd: number | null;
}

/** The kinds of tokens that both products and retinue count, for comparison. */
export const COMPARED = [
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "cacheWrite1hTokens",
] as const;
export type Compared = (typeof COMPARED)[number];
/** Tokens by kind; null if the product does not report it. May be a difference, and so negative. */
export type Amounts = Readonly<Record<Compared, number | null>>;

const combineAmounts = (a: Amounts, b: Amounts, sign: 1 | -1): Amounts => {
  const field = (kind: Compared) => (a[kind] === null || b[kind] === null ? null : a[kind] + sign * b[kind]);
  return {
    inputTokens: field("inputTokens"),
    outputTokens: field("outputTokens"),
    cacheReadTokens: field("cacheReadTokens"),
    cacheWriteTokens: field("cacheWriteTokens"),
    cacheWrite1hTokens: field("cacheWrite1hTokens"),
  };
};

/** A kind is unknown in the result if it is unknown in one of them. */
export const addAmounts = (a: Amounts, b: Amounts) => combineAmounts(a, b, 1);
export const subtractAmounts = (a: Amounts, b: Amounts) => combineAmounts(a, b, -1);
/** Whether all known kinds are zero. */
export const isNothing = (a: Amounts) => COMPARED.every((kind) => (a[kind] ?? 0) === 0);
export const isNegative = (a: Amounts) => COMPARED.some((kind) => (a[kind] ?? 0) < 0);

export const NO_TOKENS: Tokens = {
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
};
const { reasoningTokens: _, ...amounts } = NO_TOKENS;
export const NO_AMOUNTS: Amounts = amounts;
export const NO_USAGE: Usage = { calls: 0, ...NO_TOKENS, costUsd: 0 };

function combine(a: Tokens, b: Tokens, how: (x: number, y: number) => number): Tokens {
  return {
    inputTokens: how(a.inputTokens, b.inputTokens),
    outputTokens: how(a.outputTokens, b.outputTokens),
    reasoningTokens: how(a.reasoningTokens, b.reasoningTokens),
    cacheReadTokens: how(a.cacheReadTokens, b.cacheReadTokens),
    cacheWriteTokens: how(a.cacheWriteTokens, b.cacheWriteTokens),
    cacheWrite1hTokens: how(a.cacheWrite1hTokens, b.cacheWrite1hTokens),
  };
}

/** Whether an output count in a row with a stop reason is final. A response that has begun is counted as 1 to 3. */
export const isFinalCount = (outputTokens: number) => outputTokens > 3;

/** The larger of each number. */
export const largestTokens = (a: Tokens, b: Tokens) => combine(a, b, Math.max);

export const addTokens = (a: Tokens, b: Tokens) => combine(a, b, (x, y) => x + y);

const addCosts = (a: number | null, b: number | null) => (a === null || b === null ? null : a + b);

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    cacheWrite1hTokens: a.cacheWrite1hTokens + b.cacheWrite1hTokens,
    costUsd: addCosts(a.costUsd, b.costUsd),
  };
}

export const totalTokens = (t: Tokens) => t.inputTokens + t.outputTokens + t.cacheReadTokens + t.cacheWriteTokens;

/** Tokens that the product reports for an agent without recorded model calls; null if there are calls, or no report. */
export const reportedOnly = ({
  own,
  reported,
}: {
  readonly own: Usage;
  readonly reported: { readonly totalTokens: number | null } | null;
}): number | null => (own.calls === 0 ? (reported?.totalTokens ?? null) : null);

/** What a source knows of a response; null if it is not recorded. */
export interface KnownResponse {
  /** The API's id. */
  readonly id: string | null;
  readonly tokens: Tokens | null;
  /** Its texts, and the ids of its tool calls. */
  readonly content: readonly string[] | null;
}

/** Servers reuse response ids, and texts repeat: any two of id, usage and content identify a response. */
export function fingerprintsOf({ id, tokens, content }: KnownResponse): {
  readonly fingerprints?: readonly RecordKey[];
} {
  const used =
    tokens === null
      ? null
      : `${tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens}:${tokens.outputTokens}`;
  const parts = (content ?? []).map(singleSpaced).filter((part) => part !== "");
  const text = parts.join("\n");
  const digest = text === "" ? null : `${hash(text).toString(36)}${text.length.toString(36)}`;
  const pairs = [
    [id, used],
    [id, digest],
    [digest, used],
  ];
  const fingerprints = pairs.flatMap(([a, b]) => (a == null || b == null ? [] : [recordKey("api", `${a}:${b}`)]));
  return fingerprints.length === 0 ? {} : { fingerprints };
}
