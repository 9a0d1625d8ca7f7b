/**
 * What files still contain, by an independent scan that shares no code with the product, so that both cannot have the
 * same bug. It knows far less than the product. Whatever it finds must be shown; more may be shown.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { RecordedThread } from "../fixtures.ts";
import { filesBelow } from "../fixtures.ts";

type Json = Readonly<Record<string, unknown>>;

export interface Remains {
  /** Threads that have a record of a conversation. */
  readonly threads: ReadonlySet<string>;
  /** Agents that a result, a meta file or their own file names. */
  readonly agents: ReadonlySet<string>;
  /** Calls that spawned an agent. */
  readonly calls: ReadonlySet<string>;
  /**
   * Model calls, by the id of the response: those that must count, and those whose record is damaged and may be
   * incomplete.
   */
  readonly responses: ReadonlySet<string>;
  readonly doubtful: ReadonlySet<string>;
  /** Files with an unreadable line, and empty files. */
  readonly spoilt: ReadonlySet<string>;
}

const object = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function parsed(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    // Not JSON.
    return null;
  }
}

export function remainsOf(home: string): Remains {
  const found = {
    threads: new Set<string>(),
    agents: new Set<string>(),
    calls: new Set<string>(),
    responses: new Set<string>(),
    doubtful: new Set<string>(),
    spoilt: new Set<string>(),
  };
  const root = join(home, ".claude");
  for (const path of filesBelow(root).filter((name) => /^(projects|sessions)\//.test(name))) {
    const bytes = readFileSync(join(root, path));
    if (path.endsWith(".jsonl")) scanLines(path, bytes, found);
    else if (/\/subagents\/.*agent-.+\.meta\.json$|^sessions\/\d+\.json$|\/workflows\/wf_.*\.json$/.test(path))
      scanDocument(path, bytes, found);
  }
  return found;
}

type Found = { [set in keyof Remains]: Set<string> };

function scanDocument(path: string, bytes: Buffer, found: Found) {
  const meta = parsed(new TextDecoder().decode(bytes));
  if (meta === null) found.spoilt.add(path);
  const [, agent] = /agent-(.+)\.meta\.json$/.exec(path) ?? [];
  if (meta !== null && agent !== undefined) found.agents.add(agent);
}

function scanLines(path: string, bytes: Buffer, found: Found) {
  const [, agent] = /^agent-(.+)\.jsonl$/.exec(basename(path)) ?? [];
  const rows: Json[] = [];
  const damaged = new Set<Json | undefined>();
  let written = 0;
  let beginsBadly = false;
  for (const text of new TextDecoder().decode(bytes).split("\n")) {
    const line = text.replace(/^\0+|\0+$/g, "").replace(/^\ufeff/, "");
    if (/^\0|\0$/.test(text)) found.spoilt.add(path);
    if (line.trim() === "") continue;
    written += 1;
    const row = parsed(line);
    const torn = row === null ? parsed(line.slice(Math.max(1, line.lastIndexOf('{"parentUuid":')))) : null;
    const isBad = row === null && (torn !== null || !isPassedOver(line));
    if (isBad) found.spoilt.add(path);
    if (rows.length === 0 && (isBad || (row !== null && typeof row.type !== "string"))) beginsBadly = true;
    if (row !== null) rows.push(row);
    else if (torn !== null) rows.push(torn);
    if (line.includes("\ufffd")) damaged.add(rows.at(-1));
  }
  if (written === 0) found.spoilt.add(path);
  const messages = rows.filter((row) => row.type === "user" || row.type === "assistant");
  // A file that begins in the middle of a conversation is internal work, unless its beginning was lost.
  const begins =
    beginsBadly ||
    messages.some((row) => row.type === "user" && row.parentUuid === null) ||
    messages[0]?.parentUuid === null;
  if (
    agent !== undefined &&
    begins &&
    messages.some((row) => row.isSidechain === true && typeof row.uuid === "string" && isWork(row))
  )
    found.agents.add(agent);
  const thread = basename(path, ".jsonl");
  if (agent === undefined && UUID.test(thread) && messages.some((row) => typeof row.uuid === "string"))
    found.threads.add(thread);
  for (const row of messages) scanRow(row, damaged.has(row), found);
}

/** Not needed, so damage in them is not checked. */
const isPassedOver = (line: string) =>
  line.startsWith('{"type":"api-request') ||
  /^\{"parentUuid":(null|"[^"]*"),"isSidechain":(true|false),("agentId":"[^"]*",)?"attachment":\{"type":"[a-z_]+"/.test(
    line,
  );

/** Whether a record shows real work, which a warm-up of the product never contains. */
function isWork(row: Json): boolean {
  const { content } = object(row.message);
  if (row.type === "user")
    return typeof content === "string"
      ? content !== "" && content !== "Warmup"
      : list(content).length > 0 && !JSON.stringify(content).includes('"Warmup"');
  return list(content).some((block) => object(block).type === "tool_use");
}

function scanRow(row: Json, isDamaged: boolean, found: Found) {
  const message = object(row.message);
  const { agentId } = object(row.toolUseResult);
  const isResult = list(message.content).some(
    (block) => object(block).type === "tool_result" && typeof object(block).tool_use_id === "string",
  );
  if (row.type === "user" && isResult && typeof agentId === "string" && agentId.trim() !== "")
    found.agents.add(agentId);
  if (row.type !== "assistant" || row.isApiErrorMessage === true || message.model === "<synthetic>") return;
  const response = [message.id, row.requestId, row.uuid].find((id) => typeof id === "string" && id.trim() !== "");
  if (typeof response === "string")
    (typeof row.isSidechain === "boolean" && !isDamaged ? found.responses : found.doubtful).add(response);
  for (const block of list(message.content)) {
    const { type, name, id } = object(block);
    if (type === "tool_use" && (name === "Agent" || name === "Task") && typeof id === "string" && id.trim() !== "")
      found.calls.add(id);
  }
}

/** The part of `retinue tree --json` that is checked. */
export interface Shown {
  readonly agentId: string | null;
  readonly sessionId: string;
  readonly link: { readonly toolCallId: string | null } | null;
  readonly children: readonly Shown[];
}

/** Agents that the files still name and that are not shown, as sentences. Only agents of the truth count. */
export function lost(remains: Remains, truth: readonly RecordedThread[], shown: readonly Shown[]): string[] {
  const all = shown.flatMap(allAgents);
  const threads = new Set(all.map((one) => one.sessionId));
  const agents = new Set(all.flatMap((one) => [one.agentId ?? [], one.link?.toolCallId ?? []].flat()));
  const missing: string[] = [];
  for (const thread of remains.threads) if (!threads.has(thread)) missing.push(`thread ${thread}`);
  for (const { agents: known } of truth.filter(({ optional }) => optional !== true)) {
    for (const { agentId, agentIdNative, toolCallId } of known) {
      if (agentId !== null && agentIdNative !== false && remains.agents.has(agentId) && !agents.has(agentId))
        missing.push(`agent ${agentId}`);
      const isShown = agents.has(toolCallId ?? "") || (agentIdNative !== false && agents.has(agentId ?? ""));
      if (typeof toolCallId === "string" && remains.calls.has(toolCallId) && !isShown)
        missing.push(`the agent of call ${toolCallId}`);
    }
  }
  return missing;
}

const allAgents = (one: Shown): Shown[] => [one, ...one.children.flatMap(allAgents)];
