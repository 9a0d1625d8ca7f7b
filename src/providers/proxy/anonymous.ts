import {
  type AgentKey,
  agentKey,
  type CallKey,
  callKey,
  matchKey,
  partsOf,
  recordKey,
  threadKey,
  ANONYMOUS as UNNAMED,
} from "../../core/facts/ids.ts";
import type { Lifecycle } from "../../core/facts/observation.ts";
import { leadingTexts, type TailPart } from "../../core/facts/traffic.ts";
import type { Caller, Dialect, Interpreter, ToolCall } from "../../core/ports/dialect.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank } from "../../core/tools/json.ts";
import { UNKNOWN_CALLER } from "../kit/caller.ts";
import { promptIn, promptsIn } from "./prompts.ts";
import { nameOf } from "./units.ts";

export const NAME = "proxy";

/** Names of tools that spawn exactly one agent each. Any other tool with a prompt may spawn one. */
const MAKES_ONE = new Set(
  "Agent Task Subagent AgentSwarm agent task subagent spawn_agent spawn_subagent invoke_agent delegate new_task".split(
    " ",
  ),
);
/** The result of a call that only started an agent in the background. */
const LAUNCHED =
  /\b(launched|started|running|runs|queued|spawned)\b[^\n]{0,80}\b(background|async\w*)\b|\b(background|async\w*)\b[^\n]{0,80}\b(launched|started|running|runs)\b/i;
/** The client has no such tool, so nothing was spawned. */
const REFUSED =
  /^(?:[^\n]*\n){0,2}(?:Error: )?(?:Tool \S+ (?:not found|does not exist|is registered but is not available)|Tool not found\b|Unknown tool\b|No such tool\b)/i;

export const conversationKey = (conversation: string) => threadKey(NAME, conversation);

/** A client that sends no ids: agents are distinguished by content. `root` is the top conversation. */
export function anonymous(root: string): Dialect {
  return {
    vendor: "",
    identify: () => null,
    prompt: (asked) => promptIn(leadingTexts(asked)),
    open: (_, agent, saved) => new AnonymousInterpreter(root, agent, saved),
    response: (_, id) => recordKey(NAME, id),
    unnamed: (thread, response) => agentKey(NAME, partsOf(thread).thread, `${UNNAMED}${response}`),
    namedIn: () => null,
    matches: (_, prompt) => (prompt === null ? [] : [promptMatch(root, prompt)]),
  };
}

/** Contains the root conversation, so that equal prompts of two sessions have different keys. */
const promptMatch = (root: string, prompt: string) => matchKey(NAME, "prompt", `${root}:${nameOf(prompt.trim())}`);

export const anonymousCaller = (conversation: string, cwd: string | null): Caller => ({
  ...UNKNOWN_CALLER,
  session: conversation,
  thread: conversationKey(conversation),
  agent: conversationKey(conversation),
  version: null,
  cwd,
  tag: null,
});

interface Memory {
  readonly several: readonly (readonly [string, number])[];
}

class AnonymousInterpreter implements Interpreter {
  readonly #root: string;
  readonly #agent: AgentKey;
  /** Calls that spawn several agents, with their number. */
  readonly #several: Map<string, number>;

  constructor(root: string, agent: AgentKey, saved?: unknown) {
    this.#root = root;
    this.#agent = agent;
    this.#several = new Map((saved as Memory | undefined)?.several);
  }

  toolResults(out: FindingsOf, tail: readonly TailPart[]): void {
    for (const { results } of tail)
      for (const { id, isError, text } of results)
        for (const call of this.#calls(id))
          if (REFUSED.test(text.slice(0, 1_000))) out.add({ type: "call-refused", call, says: text.slice(0, 200) });
          else out.add({ type: "lifecycle", of: { call }, ...outcomeOf(isError, text) });
  }

  called(out: FindingsOf, { id, name, input }: ToolCall): void {
    const prompts = promptsIn(input);
    if (prompts.length > 1) this.#several.set(id, prompts.length);
    for (const [i, call] of this.#calls(id).entries()) {
      const prompt = prompts[i];
      if (prompt === undefined) return;
      out.add({
        type: "spawn-called",
        call,
        tool: name,
        makes: MAKES_ONE.has(name) ? "one" : "maybe",
        prompt,
        agentType: asNonBlank(input.subagent_type) ?? asNonBlank(input.agent_type),
        description: asNonBlank(input.description),
        name: asNonBlank(input.name),
        offers: [promptMatch(this.#root, prompt)],
      });
    }
  }

  /** One key per agent of the call. */
  #calls(id: string): readonly CallKey[] {
    const count = this.#several.get(id) ?? 1;
    return count === 1 ? [this.key(id)] : Array.from({ length: count }, (_, i) => this.key(`${id}.${i + 1}`));
  }

  key = (id: string) => callKey(NAME, `${partsOf(this.#agent).thread}/${id}`);
  save = (): Memory | null => (this.#several.size === 0 ? null : { several: [...this.#several] });
}

function outcomeOf(isError: boolean, text: string): Omit<Lifecycle, "type" | "of"> {
  if (isError) return { state: "errored", source: "parent_rollout", says: "its call failed", result: null };
  if (LAUNCHED.test(text.slice(0, 1_000)))
    return {
      state: "launched",
      source: "parent_rollout",
      says: "the result of its call shows that it runs in the background",
      result: null,
    };
  // Most APIs do not mark failed results; the agent's own last response is more accurate.
  return {
    state: "completed",
    source: "parent_rollout",
    says: "its call has returned",
    result: asNonBlank(text),
    yields: true,
  };
}
