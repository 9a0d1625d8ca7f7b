import { commandOf, hasFlag } from "../../core/command.ts";
import type { FindingsOf } from "../../core/findings.ts";
import type { AgentKey } from "../../core/ids.ts";
import { asList, asObject, asText, asWords, type JsonObject } from "../../core/json.ts";
import { AT_WORK, type LiveReader, speakingOnly, turnEnded } from "../../core/live-stream.ts";
import type { Wrapping } from "../../core/provider.ts";
import * as key from "./keys.ts";
import { errorWords } from "./status.ts";

const NAMES = new Set(["codex", "@openai/codex"]);
const ENDS = { completed: "completed", errored: "errored", shutdown: "shutdown", interrupted: "shutdown" } as const;

/** `codex exec --json`. */
export function wrap(words: readonly string[]): Wrapping | null {
  const command = commandOf(words);
  if (command === null || !NAMES.has(command.name)) return null;
  const at = words.findIndex((word) => word === "exec" || word === "e");
  const speaks = at >= 0 && hasFlag(command.args, "--json", "--experimental-json");
  return speakingOnly(speaks, speaks ? words : at < 0 ? null : words.toSpliced(at + 1, 0, "--json"));
}

/**
 * What `codex exec --json` prints. Its items have numbers of their own instead of the ids that stand in the rollouts, so that only agents and their ends are
 * read: whom the thread asked for (v1; of v2 it prints nothing but waiting), and what became of each.
 */
export class CodexStream implements LiveReader {
  threadIn(said: JsonObject): AgentKey | null {
    const id = said.type === "thread.started" ? asWords(said.thread_id) : null;
    return id === null ? null : key.thread(id);
  }

  timeIn = () => null;
  events = () => [];
  save = () => null;

  read(out: FindingsOf, said: JsonObject, thread: AgentKey) {
    if (said.type === "thread.started") out.add(AT_WORK);
    if (said.type === "turn.completed") out.add(turnEnded(thread, "completed", "its stream says that its turn completed"));
    if (said.type === "turn.failed") out.add(turnEnded(thread, "errored", `its stream says that its turn failed: ${errorWords(said.error)}`));
    const item = asObject(said.item);
    if (item?.type === "collab_tool_call") readCollab(out, item);
  }
}

/** Whether Codex printed a line: the first one names the thread. */
export const isPrinted = (said: JsonObject): boolean | null => (said.type === "thread.started" && asWords(said.thread_id) !== null ? true : null);

function readCollab(out: FindingsOf, item: JsonObject) {
  const [sender, prompt] = [asWords(item.sender_thread_id), asWords(item.prompt)];
  const receivers = asList(item.receiver_thread_ids).flatMap((id) => asWords(id) ?? []);
  for (const id of item.tool === "spawn_agent" && sender !== null ? receivers : []) {
    const child = key.thread(id);
    out.add({ type: "agent-described", agent: child, ...(prompt === null ? {} : { prompt }) });
    const says = `the stream of thread ${sender} says that it spawned it`;
    out.add({ type: "parent-named", child, parent: key.thread(sender ?? ""), rule: "collab_tool_call", source: "protocol", confidence: 1, says });
    out.part({ speaker: child }).add(AT_WORK);
  }
  for (const [id, value] of Object.entries(asObject(item.agents_states) ?? {})) {
    const told = asObject(value);
    const state = ENDS[asText(told?.status) as keyof typeof ENDS] as (typeof ENDS)[keyof typeof ENDS] | undefined;
    if (state === undefined) continue;
    const message = asWords(told?.message);
    const why = state === "errored" && message !== null ? `: ${errorWords(message)}` : "";
    out.add(turnEnded(key.thread(id), state, `its parent's stream says ${told?.status}${why}`, state === "completed" ? message : null));
  }
}
