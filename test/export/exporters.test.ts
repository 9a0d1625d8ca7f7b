import { describe } from "vitest";
import type { Story } from "../../src/core/views/story.ts";
import { type ExportedAgent, jsonTree } from "../../src/exporters/json/tree.ts";
import { multipart, postOf } from "../../src/exporters/langsmith/multipart.ts";
import { runsOf } from "../../src/exporters/langsmith/runs.ts";
import { protobuf } from "../../src/exporters/otlp/protobuf.ts";
import { type ExportRequest, exportRequest, type KeyValue } from "../../src/exporters/otlp/shape.ts";
import { otlpSpans } from "../../src/exporters/otlp/spans.ts";
import { perfettoTrace } from "../../src/exporters/perfetto/trace.ts";
import { tracesOf } from "../../src/exporters/trace/spans.ts";
import { type ExporterContract, exporterContract, type ReadBack } from "../contract/exporter.ts";
import { RECORDED } from "../support/fixtures.ts";
import { brokenRules } from "../support/langsmith-rules.ts";
import { operationsIn } from "../support/langsmith-server.ts";
import { readRequest } from "../support/otlp-schema.ts";

const OPTIONS = { project: "tests", version: "1", metadata: {}, outer: null, shiftMs: 0 };

const langsmith: ExporterContract = {
  write: (story) => {
    const { body, contentType } = multipart(tracesOf(story).flatMap((trace) => runsOf(trace, OPTIONS).map(postOf)));
    return `${contentType}\n${Buffer.from(body).toString("latin1")}`;
  },
  read: (text) => {
    const end = text.indexOf("\n");
    const operations = operationsIn(Buffer.from(text.slice(end + 1), "latin1"), text.slice(0, end));
    if (typeof operations === "string") throw new Error(operations);
    const wrong = operations.flatMap(({ run }) => brokenRules(run));
    if (wrong.length > 0) throw new Error(wrong.join("\n"));
    const runs = operations.map(({ run }) => run);
    const meta = (run: (typeof runs)[number]) => run.extra?.metadata ?? {};
    return {
      agents: runs
        .filter((run) => run.tags?.includes("agent"))
        .map((run) => ({ uri: String(meta(run).uri), parent: String(meta(run).parent_agent) })),
      calls: runs.flatMap((run) => {
        const usage = meta(run).usage_metadata as Record<string, number> | undefined;
        if ((run.run_type === "llm") !== (usage !== undefined)) throw new Error("usage must be on model calls only");
        return usage === undefined ? [] : [{ input: usage.input_tokens ?? 0, output: usage.output_tokens ?? 0 }];
      }),
    };
  },
};

const requestFor = (story: Story) => exportRequest(otlpSpans(tracesOf(story)), [], "1");

function readOtlp(request: ExportRequest): ReadBack {
  const spans = request.resourceSpans.flatMap((resource) => resource.scopeSpans.flatMap((scope) => scope.spans));
  const known = new Set(spans.map(({ traceId, spanId }) => `${traceId}${spanId}`));
  if (known.size !== spans.length) throw new Error("a span is repeated");
  for (const span of spans) {
    if (span.parentSpanId !== undefined && !known.has(`${span.traceId}${span.parentSpanId}`))
      throw new Error(`${span.name} has no parent`);
    if (BigInt(span.endTimeUnixNano) < BigInt(span.startTimeUnixNano))
      throw new Error(`${span.name} ends before it begins`);
    for (const link of span.links)
      if (!known.has(`${link.traceId}${link.spanId}`)) throw new Error(`${span.name} is linked to an unknown span`);
  }
  const get = (attributes: readonly KeyValue[], key: string) =>
    Object.values(attributes.find((one) => one.key === key)?.value ?? {})[0] as string | undefined;
  const agents = spans.filter(
    ({ attributes }) =>
      get(attributes, "gen_ai.operation.name") === "invoke_agent" &&
      get(attributes, "retinue.agent.parent") !== undefined,
  );
  return {
    agents: agents.map(({ attributes }) => ({
      uri: get(attributes, "retinue.uri") ?? "",
      parent: get(attributes, "retinue.agent.parent") ?? null,
    })),
    calls: spans.flatMap(({ attributes }) => {
      const input = get(attributes, "gen_ai.usage.input_tokens");
      return input === undefined
        ? []
        : [{ input: Number(input), output: Number(get(attributes, "gen_ai.usage.output_tokens")) }];
    }),
  };
}

const otlpJson: ExporterContract = {
  write: (story) => JSON.stringify(requestFor(story)),
  read: (text) => readOtlp(JSON.parse(text) as ExportRequest),
};
const otlpBinary: ExporterContract = {
  write: (story) => Buffer.from(protobuf(requestFor(story))).toString("latin1"),
  read: (text) => readOtlp(readRequest(Buffer.from(text, "latin1")) as unknown as ExportRequest),
};

interface TraceEvent {
  readonly ph: string;
  readonly cat?: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly tid?: number;
  readonly id?: number;
  readonly args?: Record<string, number | string>;
}

const perfetto: ExporterContract = {
  write: perfettoTrace,
  read: (text) => {
    const { traceEvents } = JSON.parse(text) as { traceEvents: TraceEvent[] };
    const slices = traceEvents.filter(({ ph }) => ph === "X");
    for (const one of slices) {
      const [start, end] = [one.ts ?? 0, (one.ts ?? 0) + (one.dur ?? 0)];
      const crossing = slices.some(
        (other) =>
          other.tid === one.tid &&
          (other.ts ?? 0) > start &&
          (other.ts ?? 0) < end &&
          (other.ts ?? 0) + (other.dur ?? 0) > end,
      );
      if (crossing) throw new Error("slices of a track cross each other");
    }
    const ends = traceEvents.filter(({ ph }) => ph === "f").map(({ id }) => id);
    for (const { id } of traceEvents.filter(({ ph }) => ph === "s"))
      if (!ends.includes(id)) throw new Error("an arrow leads nowhere");
    const number = (event: TraceEvent, name: string) => Number(event.args?.[name] ?? 0);
    return {
      agents: slices
        .filter(({ cat }) => cat === "agent")
        .map(({ args }) => ({ uri: String(args?.uri), parent: String(args?.parent) })),
      calls: slices
        .filter(({ cat }) => cat === "call")
        .map((call) => ({ input: number(call, "allInput"), output: number(call, "allOutput") })),
    };
  },
};

const json: ExporterContract = {
  write: (story) => jsonTree(story, "full"),
  read: (text) => {
    const all = (agent: ExportedAgent): ExportedAgent[] => [agent, ...agent.children.flatMap(all)];
    const agents = all((JSON.parse(text) as { agent: ExportedAgent }).agent);
    return {
      agents: agents.slice(1).map(({ uri, parent }) => ({ uri, parent })),
      calls: agents.flatMap(({ calls }) =>
        calls.map(({ tokens, allOutput }) => ({
          input: tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens,
          output: allOutput,
        })),
      ),
    };
  },
};

describe.each(Object.entries({ langsmith, "otlp as JSON": otlpJson, "otlp as protobuf": otlpBinary, perfetto, json }))(
  "%s",
  (_, contract) => {
    for (const { name } of RECORDED) exporterContract(name, contract);
  },
);
