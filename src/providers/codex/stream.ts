import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { Wrapping } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import { commandOf, hasFlag } from "../kit/command.ts";
import { AT_WORK, type LiveReader, outputOnly, turnEnded } from "../kit/live-stream.ts";
import * as key from "./keys.ts";
import { errorText } from "./status.ts";

const NAMES = new Set(["codex", "@openai/codex"]);
const ENDS = { completed: "completed", errored: "errored", shutdown: "shutdown", interrupted: "shutdown" } as const;

/** `codex exec --json`. */
export function wrap(argv: readonly string[]): Wrapping | null {
  const command = commandOf(argv);
  if (command === null || !NAMES.has(command.name)) return null;
  const at = argv.findIndex((word) => word === "exec" || word === "e");
  const printsJson = at >= 0 && hasFlag(command.args, "--json", "--experimental-json");
  return outputOnly(printsJson, printsJson ? argv : at < 0 ? null : argv.toSpliced(at + 1, 0, "--json"));
}

/**
 * Reads `codex exec --json`. Its items are numbered and lack the ids of the rollouts, so only agents and their ends are
 * read: the agents that the thread spawned (v1; for v2 only waiting is printed), and their states.
 */
export class CodexStream implements LiveReader {
  threadIn(line: JsonObject): AgentKey | null {
    const id = line.type === "thread.started" ? asNonBlank(line.thread_id) : null;
    return id === null ? null : key.thread(id);
  }

  timeIn = () => null;
  events = () => [];
  save = () => null;

  read(out: FindingsOf, line: JsonObject, thread: AgentKey) {
    if (line.type === "thread.started") out.add(AT_WORK);
    if (line.type === "turn.completed")
      out.add(turnEnded(thread, "completed", "its stream reports that its turn completed"));
    if (line.type === "turn.failed")
      out.add(turnEnded(thread, "errored", `its stream reports that its turn failed: ${errorText(line.error)}`));
    const item = asObject(line.item);
    if (item?.type === "collab_tool_call") readCollab(out, item);
  }
}

/** Whether Codex printed a line: the first one names the thread. */
export const isPrinted = (line: JsonObject): boolean | null =>
  line.type === "thread.started" && asNonBlank(line.thread_id) !== null ? true : null;

function readCollab(out: FindingsOf, item: JsonObject) {
  const [sender, prompt] = [asNonBlank(item.sender_thread_id), asNonBlank(item.prompt)];
  const receivers = asList(item.receiver_thread_ids).flatMap((id) => asNonBlank(id) ?? []);
  for (const id of item.tool === "spawn_agent" && sender !== null ? receivers : []) {
    const child = key.thread(id);
    out.add({ type: "agent-described", agent: child, ...(prompt === null ? {} : { prompt }) });
    const says = `the stream of thread ${sender} reports the spawn`;
    out.add({
      type: "parent-named",
      child,
      parent: key.thread(sender ?? ""),
      rule: "collab_tool_call",
      source: "protocol",
      confidence: 1,
      says,
    });
    out.part({ speaker: child }).add(AT_WORK);
  }
  for (const [id, value] of Object.entries(asObject(item.agents_states) ?? {})) {
    const agent = asObject(value);
    const state = ENDS[asText(agent?.status) as keyof typeof ENDS] as (typeof ENDS)[keyof typeof ENDS] | undefined;
    if (state === undefined) continue;
    const message = asNonBlank(agent?.message);
    const why = state === "errored" && message !== null ? `: ${errorText(message)}` : "";
    out.add(
      turnEnded(
        key.thread(id),
        state,
        `its parent's stream reports ${agent?.status}${why}`,
        state === "completed" ? message : null,
      ),
    );
  }
}
