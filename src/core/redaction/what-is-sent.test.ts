/**
 * Which strings of every kind of document leave the machine. A marker is planted in every string, so that a new field is
 * a failure here until it was decided what happens to it.
 */
import { describe, expect, it } from "vitest";
import { NO_TOKENS, NO_USAGE } from "../facts/usage.ts";
import type { SharedDetails } from "../ports/shipment.ts";
import type { AgentRecord } from "../views/agent.ts";
import type { AgentEvent } from "../views/event.ts";
import type { SharedCall } from "../views/shared-tree.ts";
import type { Span } from "../views/span.ts";
import { REDACTION_LEVELS, type RedactionLevel, Redactor } from "./redaction.ts";

const MARK = "zebra";
const WORD = "word";
const refused = { toolCallId: WORD, at: WORD, type: WORD, description: WORD, reason: WORD };
const record: AgentRecord = {
  schema: "retinue/agent@1",
  uri: WORD,
  provider: WORD,
  productVersion: WORD,
  sessionId: WORD,
  agentId: WORD,
  parent: WORD,
  forkedFrom: WORD,
  depth: 1,
  kind: "subagent",
  type: WORD,
  name: WORD,
  title: WORD,
  description: WORD,
  prompt: WORD,
  cwd: `/home/dev/${WORD}`,
  project: WORD,
  branch: WORD,
  model: [WORD],
  tools: { allowed: [WORD], denied: [WORD] },
  background: false,
  status: "completed",
  statusSource: "inferred",
  statusReason: WORD,
  activity: WORD,
  link: { rule: WORD, source: "inferred", confidence: 1, toolCallId: WORD, evidence: [WORD, WORD] },
  startedAt: WORD,
  endedAt: WORD,
  lastActivityAt: WORD,
  durationMs: 1,
  usage: { own: NO_USAGE, internal: null, subtree: NO_USAGE, reported: null },
  counts: { messages: 0, toolCalls: 0, toolErrors: 0, spawned: 0, refused: 0, descendants: 0, byStatus: {} },
  refused: [refused],
  result: WORD,
  records: [{ path: WORD, bytes: 1 }],
  warnings: [WORD],
};
const event: AgentEvent = {
  schema: "retinue/event@1",
  uri: WORD,
  id: WORD,
  seq: 1,
  at: WORD,
  kind: "assistant",
  text: WORD,
  summary: WORD,
  tool: { name: WORD, callId: WORD, input: { command: WORD }, isError: false },
  usage: NO_TOKENS,
  spawn: {
    uri: WORD,
    agentId: WORD,
    sessionId: WORD,
    prompt: WORD,
    type: WORD,
    toolCallId: WORD,
    parent: WORD,
    depth: 1,
    background: false,
  },
  status: { status: "completed", statusSource: "inferred", statusReason: WORD },
  ref: { path: WORD, row: WORD },
};
const span: Span = {
  kind: "tool",
  from: 1,
  to: 2,
  name: WORD,
  callId: WORD,
  tokens: 0,
  outputTokens: 0,
  end: "done",
  agents: [WORD],
};
const call: SharedCall = {
  at: 1,
  time: null,
  model: WORD,
  vendor: WORD,
  tokens: NO_TOKENS,
  costUsd: null,
  isInternal: false,
  event: WORD,
};
const details: SharedDetails = {
  why: {
    uri: WORD,
    parent: WORD,
    forkedFrom: WORD,
    continuedIn: [WORD],
    parentEvidence: [
      {
        decided: true,
        parent: WORD,
        rule: WORD,
        source: "inferred",
        confidence: 1,
        toolCallId: WORD,
        says: WORD,
        from: WORD,
      },
    ],
    undecided: [WORD],
    refused: [{ ...refused, tool: WORD }],
    status: { status: "completed", statusSource: "inferred", statusReason: WORD, activity: WORD },
    statusEvidence: [{ at: WORD, says: WORD, source: WORD, from: WORD }],
  },
  messages: [{ from: WORD, to: WORD, at: 1, revives: false }],
  spent: [
    {
      day: WORD,
      provider: WORD,
      model: WORD,
      type: WORD,
      project: WORD,
      template: WORD,
      status: "completed",
      thread: WORD,
      agents: 1,
      durationMs: 1,
      usage: NO_USAGE,
    },
  ],
  reports: [{ event: WORD, agents: [WORD] }],
};
const DOCUMENTS = { record, event, result: { ...event, kind: "toolResult" as const }, span, call, ...details };
type Documents = typeof DOCUMENTS;

/** Words of retinue's own that decide what happens to other fields, or replace them. */
const isOwnWord = (key: string) => key === "kind" || key === "rule";

function planted<T>(value: T, key = ""): T {
  if (typeof value === "string") return (isOwnWord(key) ? value : `${value}${MARK}`) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => planted(item)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, planted(item, name)])) as T;
}

function sent(redactor: Redactor, all: Documents): Documents {
  const redact = redactor.events();
  return {
    record: redactor.agent(all.record),
    event: redact(all.event),
    result: redact(all.result) as Documents["result"],
    span: redactor.span(all.span),
    call: redactor.sharedCall(all.call),
    why: redactor.why(all.why),
    messages: all.messages,
    spent: redactor.spent(all.spent, all.record),
    reports: all.reports.map((report) => redactor.report(report)),
  };
}

/** Where the marker is, such as `record.link.evidence`. */
function marked(value: unknown, path = ""): string[] {
  if (typeof value === "string") return value.includes(MARK) ? [path] : [];
  if (Array.isArray(value)) return [...new Set(value.flatMap((item) => marked(item, path)))];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => marked(item, path === "" ? key : `${path}.${key}`));
}

const survivors = (level: RedactionLevel, patterns: readonly string[]) =>
  marked(sent(new Redactor({ level, patterns, paths: [] }), planted(DOCUMENTS))).sort();

/** Ids and URIs, by which documents refer to each other, times, and words of retinue's own. */
const REFERENCES = [
  "agentId",
  "agents",
  "at",
  "callId",
  "continuedIn",
  "day",
  "end",
  "endedAt",
  "forkedFrom",
  "lastActivityAt",
  "messages.from",
  "messages.to",
  "parent",
  "provider",
  "ref.row",
  "schema",
  "sessionId",
  "source",
  "startedAt",
  "status",
  "statusSource",
  "thread",
  "toolCallId",
  "uri",
];
const isReference = (path: string) => REFERENCES.some((field) => path.endsWith(`.${field}`) || path === field);

describe("secrets", () => {
  it.each(REDACTION_LEVELS)("are in no string but references, with the level %s", (level) => {
    expect(survivors(level, [MARK]).filter((path) => !isReference(path))).toEqual([]);
  });

  it("do not change what documents refer to", () => {
    const all = marked(planted(DOCUMENTS)).filter(isReference).sort();
    for (const level of REDACTION_LEVELS) expect(survivors(level, [MARK])).toEqual(all);
  });

  it("are removed from the name of a project if they begin before it", () => {
    const redactor = new Redactor({ level: "full", patterns: ["dev/\\w+"], paths: [] });
    expect(redactor.agent(record)).toMatchObject({ cwd: "/home/[redacted]", project: "[redacted]" });
    expect(redactor.spent(details.spent, record).map(({ project }) => project)).toEqual(["[redacted]"]);
  });

  it("are removed from a prompt before its template is made", () => {
    const key = ["gh", "p_VQxIl4KbKd7a1B2c3D4e5F6g7H8i9J0k1L"].join("");
    const redactor = new Redactor({ level: "full", patterns: [], paths: [] });
    const templates = redactor.spent(details.spent, { ...record, prompt: `Log in with ${key} twice` });
    expect(templates.map(({ template }) => template)).toEqual(["Log in with [redacted] twice"]);
  });

  it("of known formats are removed from names, too", () => {
    const key = ["sk-", "ant-api03-", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");
    const redactor = new Redactor({ level: "full", patterns: [], paths: [] });
    const made = { ...record, type: `reviewer-${key}`, cwd: `/home/dev/${key}`, project: key, model: [key] };
    expect(JSON.stringify(redactor.agent(made))).not.toContain(key);
  });
});

describe("without secrets", () => {
  const all = marked(planted(DOCUMENTS)).sort();
  const left = (level: RedactionLevel) => {
    const found = survivors(level, []);
    return all.filter((path) => !found.includes(path));
  };

  it("everything is sent", () => expect(left("full")).toEqual([]));

  it("everything but tool results is sent with the level no-tool-output", () =>
    expect(left("no-tool-output")).toEqual(["result.text"]));

  it("no text is sent with the level metadata", () => {
    const texts = (path: string) => [`${path}.text`, `${path}.summary`, `${path}.tool.input.command`];
    expect(left("metadata")).toEqual(
      [
        ...["title", "name", "description", "prompt", "result", "activity", "statusReason"].map((of) => `record.${of}`),
        ...["record.link.evidence", "record.refused.description", "record.refused.reason"],
        ...["event", "result"].flatMap((of) => [...texts(of), `${of}.spawn.prompt`, `${of}.status.statusReason`]),
        ...["parentEvidence.says", "refused.description", "refused.reason", "statusEvidence.says", "undecided"].map(
          (of) => `why.${of}`,
        ),
        ...["why.status.activity", "why.status.statusReason", "spent.template"],
      ].sort(),
    );
  });

  it("the names of tools are sent with the level metadata, without the rules about their input", () => {
    const limited = { ...record, tools: { allowed: ["Read", "Bash(git push:*)"], denied: null } };
    const tools = (level: RedactionLevel) => new Redactor({ level, patterns: [], paths: [] }).agent(limited).tools;
    expect(tools("metadata")).toEqual({ allowed: ["Read", "Bash"], denied: null });
    expect(tools("full")).toEqual(limited.tools);
  });
});
