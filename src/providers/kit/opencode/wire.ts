import { ANONYMOUS, partsOf } from "../../../core/facts/ids.ts";
import type { LifecycleState } from "../../../core/facts/observation.ts";
import type { RequestRow, TailPart } from "../../../core/facts/traffic.ts";
import type { Caller, Dialect, Interpreter, ToolCall } from "../../../core/ports/dialect.ts";
import type { FindingsOf } from "../../../core/ports/findings.ts";
import { asNonBlank, asText } from "../../../core/tools/json.ts";
import { UNKNOWN_CALLER } from "../caller.ts";
import { isSessionId, type Keys } from "./keys.ts";
import { readNotices, refusalIn, resultIn, TASK } from "./task.ts";

/** The API requests of a product of the family: docs/formats/opencode.md, "API traffic". */
export const wireOf = (key: Keys, agent: RegExp): Dialect => ({
  vendor: "",
  identify(asked): Caller | null {
    const { headers } = asked;
    const version = agent.exec(headers["user-agent"] ?? "")?.[1] ?? null;
    const session = [headers["x-session-id"], headers["x-session-affinity"], headers["x-opencode-session"]].find(
      (id) => id !== undefined && isSessionId(id),
    );
    if (version === null || session === undefined) return null;
    const above = headers["x-parent-session-id"];
    const thread = key.session(session);
    const tag = tagOf(asked);
    return {
      ...UNKNOWN_CALLER,
      session,
      thread,
      agent: tag === null ? thread : null,
      parent: above === undefined || !isSessionId(above) ? null : key.session(above),
      rule: "x-parent-session-id",
      version,
      cwd: asked.cwd,
      tag,
      // The database has no response ids.
      hasNoResponseIds: true,
    };
  },
  // Kilo describes the environment in a separate part after the prompt.
  prompt: ({ first }) => asNonBlank(first.findLast((text) => !/^\s*<environment_details>/.test(text))),
  open: (caller, _, saved) => new OpencodeInterpreter(key, partsOf(caller.thread).thread, saved),
  response: (thread, id) => key.record(`answer/${partsOf(thread).thread}/${id}`),
  unnamed: (thread, response) => key.agent(partsOf(thread).thread, `${ANONYMOUS}${response}`),
  namedIn: () => null,
  matches: ({ parent }, prompt) =>
    parent === null || prompt === null ? [] : [key.promptMatch(partsOf(parent).thread, prompt)],
});

/** Titles and summaries of sessions: requests of agents have tools. */
function tagOf({ offered, opening }: RequestRow): Caller["tag"] {
  if (offered > 0) return null;
  return /\btitle\b/.test(opening) ? "title" : "auxiliary";
}

/** The state of a task, from the text for the model. */
function stateIn(text: string): LifecycleState {
  if (/^(Subagent failed|Error\b)/.test(text)) return "errored";
  if (/^(Task (was )?(cancelled|aborted)|Tool execution aborted)/.test(text)) return "shutdown";
  return /^<task id="[^"]*" state="running"|\brunning in the background\b/.test(text.slice(0, 500))
    ? "launched"
    : "completed";
}

interface Memory {
  readonly tasks: readonly string[];
}

class OpencodeInterpreter implements Interpreter {
  readonly #key: Keys;
  readonly #session: string;
  readonly #tasks: Set<string>;

  constructor(key: Keys, session: string, saved?: unknown) {
    this.#key = key;
    this.#session = session;
    this.#tasks = new Set((saved as Memory | undefined)?.tasks);
  }

  toolResults(out: FindingsOf, tail: readonly TailPart[]): void {
    for (const { texts, results } of tail) {
      for (const text of texts) readNotices(this.#key, out, text);
      for (const { id, isError, text } of results) {
        if (!this.#tasks.delete(id)) continue;
        const call = this.key(id);
        const child = /(?:<task id="|task_id: |session_id: )(ses_[A-Za-z0-9]+)/.exec(text)?.[1];
        if (child !== undefined)
          out.add({
            type: "call-spawned",
            call,
            child: this.#key.session(child),
            rule: "task output",
            source: "parent_rollout",
            says: `the result of call ${id} names session ${child}`,
          });
        const refusal = child === undefined ? refusalIn(text) : null;
        if (refusal !== null) {
          out.add({ type: "call-refused", call, says: refusal });
          continue;
        }
        const state = isError ? "errored" : stateIn(text);
        const [result, says] =
          state === "completed"
            ? [resultIn(text), "its call has returned"]
            : [null, `the result of its call has state ${state}`];
        out.add({ type: "lifecycle", of: { call }, state, source: "parent_rollout", says, result, yields: true });
      }
    }
  }

  called(out: FindingsOf, { id, name, input }: ToolCall): void {
    if (name !== TASK) return;
    this.#tasks.add(id);
    const prompt = asText(input.prompt);
    out.add({
      type: "spawn-called",
      call: this.key(id),
      tool: name,
      makes: "one",
      prompt,
      agentType: asNonBlank(input.subagent_type),
      description: asNonBlank(input.description),
      name: null,
      offers: prompt === null ? [] : [this.#key.promptMatch(this.#session, prompt)],
    });
  }

  key = (id: string) => this.#key.call(this.#session, id);
  save = (): Memory => ({ tasks: [...this.#tasks] });
}
