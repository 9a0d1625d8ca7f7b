import { type AgentKey, partsOf } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asList, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import type { ToolCall, ToolResult } from "../kit/pi/message.ts";
import { SessionStream } from "../kit/pi/stream.ts";
import { key } from "./keys.ts";
import { HUB, readDetails, readJobs, readTask, TASK } from "./tasks.ts";

/** Whether omp printed a line. Only this event is not also Pi's; it is printed first. */
export const isPrinted = (line: JsonObject): boolean | null => (line.type === "advisor_cost_changed" ? true : null);

/** Reads `omp --mode json`: the main agent, and what its calls report about agents. */
export class OmpStream extends SessionStream {
  /** Reports that were stated; most of them repeat the last one. */
  readonly #stated: Set<string>;

  constructor(saved?: unknown) {
    super(key);
    this.#stated = new Set(saved as readonly string[] | undefined);
  }

  save = () => [...this.#stated];

  protected started(out: FindingsOf, { id, name, args }: ToolCall, thread: AgentKey) {
    if (name === TASK) readTask(out, { session: partsOf(thread).thread, agent: null }, id, args);
  }

  /** A report names the agents of a call when they begin. */
  protected reported(out: FindingsOf, report: ToolResult, session: string) {
    const all = [...asList(report.details?.progress), ...asList(report.details?.jobs)].map(asObject);
    const says = all.map((json) => `${asText(json?.id)} ${asText(json?.status)}`).join("\n");
    if (this.#stated.has(says)) return;
    this.#stated.add(says);
    this.returned(out, report, session);
  }

  protected returned(out: FindingsOf, { call, tool, details }: ToolResult, session: string) {
    // Without a time, because the files are more accurate.
    const part = out.part({ at: null });
    if (tool === HUB) readJobs(part, session, details, "protocol");
    if (tool === TASK) readDetails(part, session, key.call(session, call), details, "protocol");
  }
}
