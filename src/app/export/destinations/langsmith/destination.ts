import type { FindPosted, Parcel } from "../../../../core/ports/outbox.ts";
import type { RedactionRules } from "../../../../core/redaction/redaction.ts";
import { asList, asNonBlank, asObject, asText, parseJson } from "../../../../core/tools/json.ts";
import type { Story } from "../../../../core/views/story.ts";
import {
  abandonedRun,
  multipart,
  patchOf,
  postOf,
  type RunOperation,
} from "../../../../exporters/langsmith/multipart.ts";
import { placeIn } from "../../../../exporters/langsmith/names.ts";
import { type LangSmithOptions, type PlacedRun, placedRuns } from "../../../../exporters/langsmith/runs.ts";
import { isComplete, type Trace } from "../../../../exporters/trace/span.ts";
import { Failure } from "../../../failure.ts";
import type { Env } from "../../../home.ts";
import { productVersion } from "../../../version.ts";
import { checkedUrl, type Destination, type Plan, type PlanOptions } from "../../destination.ts";
import type { OldTraces } from "../../formats.ts";

const CLOUD = "https://api.smith.langchain.com";
/** The cloud refuses runs that began more than a day ago; leaves a margin for time in the outbox. */
const CLOUD_AGE_MS = (24 * 60 - 10) * 60_000;
const LIMIT = { items: 100, bytes: 20 << 20 };
const MAX_RUNS = 25_000;
const TIMEOUT_MS = 30_000;

/** The destinations that the environment configures: one, and any number of replicas. */
export function langSmithDestinations(env: Env, redaction: RedactionRules, isPreview: boolean): Destination[] {
  const own = {
    url: env.LANGSMITH_ENDPOINT || env.CC_LANGSMITH_ENDPOINT || CLOUD,
    key: env.CC_LANGSMITH_API_KEY || env.LANGSMITH_API_KEY || (isPreview ? "none" : ""),
    project: env.CC_LANGSMITH_PROJECT || null,
  };
  const places = [own, ...replicas(env.CC_LANGSMITH_RUNS_ENDPOINTS, own)];
  if (places.every(({ key }) => key === ""))
    throw new Failure("usage", "no LangSmith API key is set", [
      "set CC_LANGSMITH_API_KEY or LANGSMITH_API_KEY; --preview shows what would be sent without one",
    ]);
  const rules = rulesOf(env, redaction);
  const base = {
    version: productVersion(),
    metadata: metadataOf(env.CC_LANGSMITH_METADATA),
    outer: outerOf(env.CC_LANGSMITH_PARENT_DOTTED_ORDER),
  };
  const tenant = env.LANGSMITH_WORKSPACE_ID;
  return places.filter(({ key }) => key !== "").map((place) => destination(place, { ...base, tenant, rules }));
}

interface Place {
  readonly url: string;
  readonly key: string;
  readonly project: string | null;
}

interface Common extends Pick<LangSmithOptions, "version" | "metadata" | "outer"> {
  readonly tenant: string | undefined;
  readonly rules: RedactionRules | null;
}

function destination({ url, key, project }: Place, { tenant, rules, ...base }: Common): Destination {
  const endpoint = checkedUrl(url, "LANGSMITH_ENDPOINT").replace(/\/+$/, "");
  const options = (story: Story) => ({ ...base, project: project ?? story.tracedAs });
  return {
    format: "langsmith",
    name: `langsmith ${endpoint} ${project ?? "(by product)"}`,
    url: `${endpoint}/runs/multipart`,
    headers: {
      "x-api-key": key,
      "user-agent": `retinue/${base.version}`,
      ...(tenant === undefined ? {} : { "x-tenant-id": tenant }),
    },
    timeoutMs: TIMEOUT_MS,
    limit: LIMIT,
    redaction: rules,
    plan: (story, traces, how) => planOf(traces, options(story), ageLimit(endpoint, how.old), how),
    ending: (story, { key, place }, at) => {
      const run = placeIn(dottedOrderIn(place));
      return run === null
        ? null
        : parcelOf(abandonedRun(run, options(story).project, at), { key, place, isEnd: true, what: "patch" });
    },
    encode: (bodies) => {
      const { contentType, body } = multipart(
        bodies.map((one) => JSON.parse(Buffer.from(one).toString()) as RunOperation),
      );
      return { headers: { "content-type": contentType }, body };
    },
    shown: (bodies) =>
      Buffer.from(
        multipart(bodies.map((one) => JSON.parse(Buffer.from(one).toString()) as RunOperation)).body,
      ).toString(),
    turnedDown: () => null,
  };
}

/** Maximum age of a trace; null if unlimited. */
const ageLimit = (endpoint: string, old: OldTraces | null) =>
  old === "send" || (old === null && !/\.smith\.langchain\.com$/.test(new URL(endpoint).hostname))
    ? null
    : CLOUD_AGE_MS;

function planOf(
  traces: readonly Trace[],
  options: Omit<LangSmithOptions, "shiftMs">,
  maxAge: number | null,
  { now, old, wholeTurns }: PlanOptions,
): Plan {
  const isTooOld = ({ root }: Trace) => maxAge !== null && now - root.start > maxAge;
  const shift = (trace: Trace) => (isTooOld(trace) && old === "shift" ? now - (trace.root.end ?? now) : 0);
  const selected = traces.filter((trace) => !isTooOld(trace) || (old === "shift" && trace.root.end !== null));
  return {
    traces: selected.length,
    items: selected.reduce((sum, { spans }) => sum + Math.min(spans.length, MAX_RUNS), 0),
    tooOld: traces.length - selected.length,
    tooMany: selected.reduce((sum, { spans }) => sum + Math.max(0, spans.length - MAX_RUNS), 0),
    isOpen: !selected.every(isComplete),
    parcels: (find) =>
      selected.flatMap((trace) => parcelsOf(trace, { ...options, shiftMs: shift(trace) }, find, wholeTurns)),
  };
}

/**
 * A run is posted once its place is final and its parent is posted: runs with children when they begin, others when
 * they have ended.
 */
function parcelsOf(trace: Trace, options: LangSmithOptions, find: FindPosted, wholeTurns: boolean): Parcel[] {
  if (wholeTurns && !isComplete(trace) && find(trace.root.key) === undefined) return [];
  const known = new Set<string>();
  const dottedOrder = (key: string) => dottedOrderIn(find(key)?.place ?? "");
  return placedRuns(trace, options, dottedOrder)
    .slice(0, MAX_RUNS)
    .flatMap((placed) => {
      const { span, run, mayHaveChildren } = placed;
      const before = find(span.key);
      const isEnd = span.end !== null;
      const mayBegin =
        span.isCertain &&
        (span.parent === null || known.has(span.parent.key)) &&
        (isEnd || (mayHaveChildren && !wholeTurns));
      if (before !== undefined || mayBegin) known.add(span.key);
      if (before === undefined ? !mayBegin : !before.isOpen || !isEnd) return [];
      const operation = before === undefined ? postOf(run) : patchOf(run);
      return [
        parcelOf(operation, {
          key: span.key,
          place: placeText(placed),
          isEnd,
          what: `${operation.is} ${run.run_type} ${run.name}`,
        }),
      ];
    });
}

const parcelOf = (operation: RunOperation, of: Pick<Parcel, "key" | "place" | "isEnd" | "what">): Parcel => ({
  ...of,
  batch: operation.traceId,
  body: Buffer.from(JSON.stringify(operation)),
});

/**
 * The part of a run with possible children that must never change. Other runs are posted as a whole and never changed.
 */
const placeText = ({ span: { kind }, run, place }: PlacedRun) =>
  kind === "turn" || kind === "agent" || kind === "tool" ? `${run.run_type} ${place.dottedOrder}` : "";
const dottedOrderIn = (place: string) => place.slice(place.indexOf(" ") + 1);

/** An array of objects or of `[project, …]`, or an object of URLs and keys, as in LangSmith's own packages. */
function replicas(text: string | undefined, own: Place): Place[] {
  if (text === undefined || text === "") return [];
  const parsed = parseJson(text)?.value;
  const byUrl = asObject(parsed);
  if (byUrl !== null)
    return Object.entries(byUrl).flatMap(([url, key]) =>
      typeof key === "string" ? [{ url, key, project: own.project }] : [],
    );
  if (!Array.isArray(parsed))
    throw new Failure("usage", "CC_LANGSMITH_RUNS_ENDPOINTS is not a JSON array", [
      'write it as [{"apiUrl": "…", "apiKey": "…", "projectName": "…"}]',
    ]);
  return parsed.map((one): Place => {
    const given = asObject(one);
    const project = asText(asList(one)[0]) ?? asText(given?.projectName) ?? asText(given?.project_name) ?? own.project;
    return {
      url: asText(given?.apiUrl) ?? asText(given?.api_url) ?? own.url,
      key: asText(given?.apiKey) ?? asText(given?.api_key) ?? own.key,
      project,
    };
  });
}

function metadataOf(text: string | undefined) {
  if (text === undefined || text === "") return {};
  const given = asObject(parseJson(text)?.value);
  if (given === null)
    throw new Failure("usage", "CC_LANGSMITH_METADATA is not a JSON object", ['write it as {"team": "core"}']);
  return given;
}

function outerOf(text: string | undefined) {
  if (text === undefined || text === "") return null;
  const run = placeIn(text);
  if (run === null)
    throw new Failure("usage", "CC_LANGSMITH_PARENT_DOTTED_ORDER is not a dotted order", [
      "use the dotted_order of an existing run, or unset it",
    ]);
  return run;
}

/** Null if redaction is disabled. */
function rulesOf(env: Env, rules: RedactionRules): RedactionRules | null {
  if (["0", "false", "no", "off"].includes((env.CC_LANGSMITH_REDACT ?? "").trim().toLowerCase())) return null;
  const extra = env.CC_LANGSMITH_REDACT_EXTRA;
  if (extra === undefined || extra === "") return rules;
  const patterns = asList(parseJson(extra)?.value).map((rule) => asNonBlank(asObject(rule)?.pattern));
  if (patterns.length === 0 || patterns.some((pattern) => pattern === null || !isPattern(pattern)))
    // Better to send nothing than to ignore a redaction rule.
    throw new Failure("usage", "CC_LANGSMITH_REDACT_EXTRA is not a list of rules", [
      'write it as [{"pattern": "ACME-\\\\d+"}]',
    ]);
  return { ...rules, patterns: [...rules.patterns, ...patterns.filter((pattern) => pattern !== null)] };
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "gu");
    return true;
  } catch {
    // Invalid; the caller reports it.
    return false;
  }
}
