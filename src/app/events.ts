import { type AgentEvent, EVENT_KINDS, type EventDraft } from "../core/event.ts";
import { type AgentKey, nativeCall, type RecordKey } from "../core/ids.ts";
import { agentOf, type Forest, type LinkedAgent } from "../core/link.ts";
import type { Tokens } from "../core/usage.ts";
import { noReads, readLines } from "../transports/files.ts";
import { isWholeJson, type Machine } from "./machine.ts";

/** Everything that happened to the agents named, oldest first: what they said and did, whom they spawned, how they ended. */
export async function readEvents(machine: Machine, keys: readonly AgentKey[]): Promise<AgentEvent[]> {
  const wanted = new Set(keys);
  const paths = new Set(keys.flatMap((key) => agentOf(machine.forest, key).files.map((f) => f.path)));
  const drafts: Placed[] = [];
  for (const path of paths)
    for await (const draft of draftsOf(machine, path)) if (wanted.has(draft.speaker) && isOwn(machine.forest, draft)) drafts.push(draft);
  const events = [...spoken(machine.forest, drafts), ...keys.flatMap((key) => derived(machine.forest, agentOf(machine.forest, key)))];
  const kindRank = (event: Unnumbered) => EVENT_KINDS.indexOf(event.kind);
  events.sort(
    (a, b) =>
      (a.time ?? 0) - (b.time ?? 0) ||
      (a.ref?.line ?? Number.MAX_SAFE_INTEGER) - (b.ref?.line ?? Number.MAX_SAFE_INTEGER) ||
      kindRank(a) - kindRank(b) ||
      (a.id < b.id ? -1 : 1),
  );
  const counters = new Map<string, number>();
  return events.map(({ time, ...event }) => {
    const seq = (counters.get(event.uri) ?? 0) + 1;
    counters.set(event.uri, seq);
    const { schema, uri, id, ...rest } = event;
    return { schema, uri, id, seq, ...rest };
  });
}

type Placed = EventDraft & { readonly path: string; readonly line: number; readonly number: number };
type Unnumbered = Omit<AgentEvent, "seq"> & { readonly time: number | null };

async function* draftsOf(machine: Machine, path: string): AsyncGenerator<Placed> {
  const source = machine.sources.get(path);
  if (source === undefined || source.stream.shape !== "lines") return;
  const parser = source.stream.open(source.file);
  for await (const lines of readLines(path, noReads(), isWholeJson)) {
    for (const line of lines) {
      if (line.is !== "line") continue;
      for (const [number, draft] of parser.events(line.bytes, line.number).entries()) yield { ...draft, path, line: line.number, number };
    }
  }
}

const isOwn = (forest: Forest, draft: EventDraft) => draft.keys.every((key) => (forest.ownerOf(key) ?? draft.speaker) === draft.speaker);

function spoken(forest: Forest, drafts: readonly Placed[]): Unnumbered[] {
  const toolNames = new Map(drafts.flatMap((d) => (d.kind === "toolCall" && d.tool ? [[d.tool.call, d.tool.name] as const] : [])));
  const calls = new Map<AgentKey, Map<RecordKey, Tokens>>();
  const callsOf = (agent: LinkedAgent) => {
    const known = calls.get(agent.key) ?? new Map(agent.calls.map((c) => [c.response, c.tokens]));
    calls.set(agent.key, known);
    return known;
  };
  const shown = new Set<RecordKey>();
  return drafts.map((draft) => {
    const agent = agentOf(forest, draft.speaker);
    const usage = draft.response === null || shown.has(draft.response) ? null : (callsOf(agent).get(draft.response) ?? null);
    if (draft.response !== null) shown.add(draft.response);
    return {
      schema: "retinue/event@1",
      uri: agent.uri,
      id: `${draft.path}:${draft.line}#${draft.number}`,
      at: iso(draft.at),
      time: draft.at,
      kind: draft.kind,
      text: draft.text,
      tool: draft.tool && {
        name: draft.tool.name ?? toolNames.get(draft.tool.call) ?? null,
        callId: nativeCall(draft.tool.call),
        input: draft.tool.input,
        isError: draft.tool.isError,
      },
      usage,
      spawn: null,
      status: null,
      ref: { path: draft.path, line: draft.line },
    };
  });
}

/** What no single record says: that a child began, and how the agent stands. */
function derived(forest: Forest, agent: LinkedAgent): Unnumbered[] {
  const base = { schema: "retinue/event@1", uri: agent.uri, text: null, tool: null, usage: null, ref: null } as const;
  const spawns = agent.children.map((key): Unnumbered => {
    const child = agentOf(forest, key);
    const call = child.spawnCall;
    const time = child.firstAt ?? call?.at ?? null;
    return {
      ...base,
      id: `spawn:${child.uri}`,
      at: iso(time),
      time,
      kind: "spawn",
      text: child.description ?? call?.description ?? null,
      spawn: {
        uri: child.uri,
        agentId: child.agentId,
        sessionId: child.sessionId,
        prompt: call?.prompt ?? child.prompt,
        type: child.agentType ?? call?.agentType ?? null,
        toolCallId: call === undefined ? null : nativeCall(call.call),
        parent: agent.uri,
        depth: child.depth,
        background: child.background ?? child.statements.some((s) => s.state === "launched"),
      },
      status: null,
    };
  });
  const { status, statusSource, statusReason } = agent.verdict;
  const time = agent.statements.at(-1)?.at ?? null;
  const last = Math.max(time ?? 0, agent.lastAt ?? 0);
  const standing: Unnumbered = {
    ...base,
    id: `status:${agent.uri}`,
    at: last === 0 ? null : iso(last),
    time: last === 0 ? null : last,
    kind: "status",
    spawn: null,
    status: { status, statusSource, statusReason },
  };
  return [...spawns, standing];
}

const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
