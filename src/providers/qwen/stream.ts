import { type AgentKey, partsOf } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asList, asNonBlank, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import { wrapStream } from "../kit/gemini-cli.ts";
import { AT_WORK, type LiveReader, turnEnded } from "../kit/live-stream.ts";
import { firstLine } from "../kit/text.ts";
import * as key from "./keys.ts";
import { endOf, isRefusal, isSpawn, readSpawn } from "./spawns.ts";

const NAMES = new Set(["qwen", "@qwen-code/qwen-code"]);

/** `qwen -p … --output-format stream-json`. */
export const wrap = (argv: readonly string[]) => wrapStream(NAMES, argv);

/** Whether Qwen Code printed a line: the first one has its version. */
export const isPrinted = (line: JsonObject): boolean | null =>
  line.type === "system" && line.subtype === "init" && asNonBlank(line.qwen_code_version) !== null ? true : null;

interface Memory {
  readonly open: readonly string[];
}

/**
 * Reads `--output-format stream-json`: Claude Code's lines, with ids that the transcripts do not have. So only the
 * beginning, spawns and ends are read; messages and usage are in the transcripts.
 */
export class QwenStream implements LiveReader {
  /** Spawn calls without a result. */
  readonly #open: Set<string>;

  constructor(saved?: unknown) {
    this.#open = new Set((saved as Memory | undefined)?.open);
  }

  save = (): Memory => ({ open: [...this.#open] });

  threadIn(line: JsonObject): AgentKey | null {
    const id = asNonBlank(line.session_id);
    return id === null ? null : key.thread(id);
  }

  timeIn = () => null;
  events = () => [];

  read(out: FindingsOf, line: JsonObject, thread: AgentKey) {
    // Some lines do not name it.
    const session = partsOf(thread).thread;
    switch (line.type) {
      case "system":
        return readSystem(out, line, thread, session);
      case "assistant":
      case "user":
        return this.#readMessage(out, line, session);
      case "result":
        return this.#readResult(out, line, thread);
    }
  }

  #readMessage(out: FindingsOf, line: JsonObject, session: string) {
    // Calls of agents further down are printed without their agent.
    if (asNonBlank(line.parent_tool_use_id) !== null) return;
    for (const item of asList(asObject(line.message)?.content)) {
      const block = asObject(item);
      const [id, name, args] = [asNonBlank(block?.id), asNonBlank(block?.name), asObject(block?.input) ?? {}];
      if (block?.type === "tool_use" && id !== null && name !== null && isSpawn(name, args)) {
        this.#open.add(id);
        readSpawn(out, session, id, name, args);
      }
      const result = asNonBlank(block?.tool_use_id);
      if (block?.type === "tool_result" && result !== null && this.#open.delete(result))
        this.#readSpawnResult(out, session, result, asText(block.content) ?? "", block.is_error === true);
    }
  }

  /** Failed agents are reported as success; only their text shows the failure. The transcripts are more accurate. */
  #readSpawnResult(out: FindingsOf, session: string, id: string, text: string, isError: boolean) {
    if (isError && isRefusal(text))
      return out.add({ type: "call-refused", call: key.call(session, id), says: firstLine(text) });
    const isLaunched = /^(?:Background|Fork)[^\n]*\blaunched\b/i.test(text);
    const isFailed = isError || /^Subagent execution failed/.test(text);
    out.add({
      type: "lifecycle",
      of: { call: key.call(session, id) },
      state: isLaunched ? "launched" : isFailed ? "errored" : "completed",
      source: "inferred",
      says: isLaunched ? "its call launched it in the background" : "its call has returned",
      result: isLaunched || isFailed ? null : asNonBlank(text),
      yields: true,
    });
  }

  #readResult(out: FindingsOf, line: JsonObject, thread: AgentKey) {
    const isError = line.is_error === true;
    // The error of an agent is printed like the end of the run (0.24.4).
    if (isError && this.#open.size > 0) return;
    const why = isError ? `: ${asNonBlank(asObject(line.error)?.message) ?? "an error"}` : "";
    const says = `its stream ends with ${asText(line.subtype) ?? "a result"}${why}`;
    out.add(turnEnded(thread, isError ? "errored" : "completed", says, isError ? null : asNonBlank(line.result)));
  }
}

function readSystem(out: FindingsOf, line: JsonObject, thread: AgentKey, session: string) {
  if (line.subtype === "init") {
    const [cwd, productVersion] = [asNonBlank(line.cwd), asNonBlank(line.qwen_code_version)];
    out.add({
      type: "agent-described",
      agent: thread,
      ...(cwd === null ? {} : { cwd }),
      ...(productVersion === null ? {} : { productVersion }),
    });
    return out.add(AT_WORK);
  }
  const data = asObject(line.data);
  const [task, call] = [asNonBlank(data?.task_id), asNonBlank(data?.tool_use_id)];
  if (data === null || task === null || call === null) return;
  const agent = key.agent(session, task);
  if (line.subtype === "task_started") {
    const [agentType, description] = [asNonBlank(data.subagent_type), asNonBlank(data.description)];
    // Background shells are tasks, too.
    if (agentType === null) return;
    out.add({
      type: "agent-described",
      agent,
      background: true,
      agentType,
      ...(description === null ? {} : { description }),
    });
    out.add({
      type: "call-spawned",
      call: key.call(session, call),
      child: agent,
      rule: "task_started.tool_use_id",
      source: "protocol",
      says: `its stream names call ${call} and agent ${task}`,
    });
    out.part({ speaker: agent }).add(AT_WORK);
  }
  const state = endOf(data.status);
  if (line.subtype === "task_notification" && state !== null && state !== "launched" && state !== "revived")
    out.add({
      ...turnEnded(agent, state, `its stream reports ${asText(data.status)}`),
      of: { call: key.call(session, call) },
    });
}
