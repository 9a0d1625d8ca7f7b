import { partsOf } from "../../../src/core/facts/ids.ts";
import type { TailPart } from "../../../src/core/facts/traffic.ts";
import type { Caller, Dialect, Interpreter, ToolCall } from "../../../src/core/ports/dialect.ts";
import type { FindingsOf } from "../../../src/core/ports/findings.ts";
import { asNonBlank } from "../../../src/core/tools/json.ts";
import * as key from "./keys.ts";
import { SPAWN_TOOL } from "./records.ts";

/** Every request names the thread, the agent and its parent in headers. */
export const wire: Dialect = {
  vendor: "example",
  identify({ headers, cwd }): Caller | null {
    const session = asNonBlank(headers["x-example-thread"]);
    if (session === null) return null;
    const id = asNonBlank(headers["x-example-agent"]);
    return {
      session,
      thread: key.thread(session),
      agent: key.agent(session, id),
      parent: id === null ? null : key.agent(session, asNonBlank(headers["x-example-parent"])),
      rule: id === null ? null : "x-example-parent",
      kind: id === null ? null : "subagent",
      name: null,
      path: null,
      agentType: null,
      isAgent: id !== null,
      version: null,
      cwd,
      tag: null,
    };
  },
  prompt: ({ first }) => asNonBlank(first.at(-1)),
  open: (caller) => new Requests(caller.session),
  response: (_, id) => key.response(id),
  unnamed: (thread, response) => key.agent(partsOf(thread).thread, response),
  namedIn: () => null,
  matches: () => [],
};

class Requests implements Interpreter {
  readonly #session: string;

  constructor(session: string) {
    this.#session = session;
  }

  toolResults(out: FindingsOf, tail: readonly TailPart[]): void {
    for (const { id, isError, text } of tail.flatMap(({ results }) => results))
      out.add({
        type: "lifecycle",
        of: { call: this.key(id) },
        state: isError ? "errored" : "completed",
        source: "parent_rollout",
        says: "its call has returned",
        result: isError ? null : asNonBlank(text),
        yields: true,
      });
  }

  called(out: FindingsOf, { id, name, input }: ToolCall): void {
    if (name !== SPAWN_TOOL) return;
    out.add({
      type: "spawn-called",
      call: this.key(id),
      tool: name,
      makes: "maybe",
      prompt: asNonBlank(input.prompt),
      agentType: asNonBlank(input.type),
      description: null,
      name: null,
      offers: [],
    });
  }

  key = (id: string) => key.call(this.#session, id);
  save = () => null;
}
