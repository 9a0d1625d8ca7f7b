import { partsOf } from "../../core/facts/ids.ts";
import type { RequestRow, TailPart } from "../../core/facts/traffic.ts";
import type { Caller, Dialect, Interpreter, ToolCall } from "../../core/ports/dialect.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, type JsonObject } from "../../core/tools/json.ts";
import { UNKNOWN_CALLER } from "../kit/caller.ts";
import { key } from "./keys.ts";
import { tasksOf } from "./spawns.ts";

/**
 * Pi's API requests: docs/formats/pi.md, "API traffic". Every process names its own session, none names its parent's.
 */
export const wire: Dialect = {
  vendor: "",
  identify(asked): Caller | null {
    const session = sessionIn(asked);
    if (session === null) return null;
    const thread = key.thread(session);
    const isInternal = asked.offered === 0;
    return {
      ...UNKNOWN_CALLER,
      session,
      thread,
      agent: isInternal ? null : thread,
      isChildMaybe: true,
      version: /^pi\/([\w.-]+)/.exec(asked.headers["user-agent"] ?? "")?.[1] ?? null,
      cwd: asked.cwd,
      // Summaries for compaction and abandoned branches: requests of agents have tools.
      tag: isInternal ? "auxiliary" : null,
      ...(isInternal ? { hasNoResponseIds: true as const } : {}),
    };
  },
  prompt: ({ first }) => asNonBlank(first.at(-1)?.replace(TASK, "")),
  open: (caller, _, saved) => new PiInterpreter(partsOf(caller.thread).thread, saved),
  response: (_, id) => key.responseById(id),
  unnamed: (thread) => key.internal(partsOf(thread).thread),
  namedIn: () => null,
  matches: (_, prompt) => (prompt === null ? [] : [key.wirePromptMatch(prompt)]),
};

/** The example extension and pi-subagents put it before the task. */
const TASK = /^Task: /;

/** Requires both the product name and the session id: Letta Code sends only the former, Codex only the latter. */
function sessionIn({ headers }: RequestRow): string | null {
  return /^pi[/ (]/.test(headers["user-agent"] ?? "")
    ? asNonBlank(headers.session_id ?? headers["x-session-affinity"] ?? headers["x-client-request-id"])
    : null;
}

interface Memory {
  readonly ids: readonly (readonly [string, string])[];
  readonly spawns: readonly (readonly [string, number])[];
}

class PiInterpreter implements Interpreter {
  readonly #session: string;
  /** Pi's id of a call, by the API's: for the Responses API it also contains the item's id. */
  readonly #ids: Map<string, string>;
  /** Spawn calls and their number of agents. */
  readonly #spawns: Map<string, number>;

  constructor(session: string, saved?: unknown) {
    const memory = saved as Memory | undefined;
    this.#session = session;
    this.#ids = new Map(memory?.ids);
    this.#spawns = new Map(memory?.spawns);
  }

  toolResults(out: FindingsOf, tail: readonly TailPart[]): void {
    for (const { id, isError, text } of tail.flatMap(({ results }) => results))
      for (const call of this.#calls(id)) {
        const says = isError ? "its call failed" : "its call has returned";
        const result = isError ? null : asNonBlank(text);
        out.add({
          type: "lifecycle",
          of: { call },
          state: isError ? "errored" : "completed",
          source: "parent_rollout",
          says,
          result,
          yields: true,
        });
      }
  }

  called(out: FindingsOf, { id, name, input, block }: ToolCall): void {
    const item = block.type === "function_call" ? asNonBlank((block as JsonObject).id) : null;
    if (item !== null) this.#ids.set(id, `${id}|${item}`);
    const tasks = tasksOf({ id, name, args: input }) ?? [];
    if (tasks.length > 0) this.#spawns.set(id, tasks.length);
    for (const [i, call] of this.#calls(id).entries()) {
      const { prompt = null, agentType = null, description = null } = tasks[i] ?? {};
      const offers = prompt === null ? [] : [key.promptMatch(this.#session, prompt), key.wirePromptMatch(prompt)];
      // A call with several tasks is split into one call per agent; Pi's own records name these agents.
      out.add({
        type: "spawn-called",
        call,
        tool: name,
        makes: tasks.length === 1 ? "one" : "maybe",
        prompt,
        agentType,
        description,
        name: null,
        offers,
      });
    }
  }

  #calls(id: string) {
    const count = this.#spawns.get(id) ?? 0;
    return count === 1
      ? [this.key(id)]
      : Array.from({ length: count }, (_, i) => key.call(this.#session, `${this.#ids.get(id) ?? id}.${i}`));
  }

  key = (id: string) => key.call(this.#session, this.#ids.get(id) ?? id);
  save = (): Memory => ({ ids: [...this.#ids], spawns: [...this.#spawns] });
}
