import type { FindingsOf } from "../../core/findings.ts";
import { type AgentKey, callKey, matchKey, partsOf, recordKey, threadKey } from "../../core/ids.ts";
import { asWords, type JsonObject } from "../../core/json.ts";
import type { Caller, Dialect, TailPart, ToolCall, Voice } from "../../core/traffic.ts";
import { nameOf } from "./units.ts";

export const NAME = "proxy";

/** Tools that are known to make one agent each; any other may make one. */
const MAKES_ONE = new Set(["Agent", "Task", "spawn_agent", "task"]);
/** What such tools call the text that an agent begins with. */
const PROMPTS = ["prompt", "message", "task", "instructions", "input", "query"] as const;

export const conversationKey = (conversation: string) => threadKey(NAME, conversation);

/** A client that sends no ids at all: only what is said tells who is who. `root` is the conversation at the top. */
export function anonymous(root: string): Dialect {
  return {
    vendor: "",
    namesAnswers: true,
    identify: () => null,
    prompt: ({ first }) => asWords(first.at(-1)),
    open: (_, agent) => new AnonymousVoice(root, agent),
    response: (_, id) => recordKey(NAME, id),
    unnamed: (thread) => thread,
    namedIn: () => null,
    matches: (_, prompt) => (prompt === null ? [] : [promptMatch(root, prompt)]),
  };
}

/** Never across sessions: the one at the top stands in it. */
export const promptMatch = (root: string, prompt: string) => matchKey(NAME, "prompt", `${root}:${nameOf(prompt.trim())}`);

/** The text that an agent made by this call would begin with. */
export const promptIn = (input: JsonObject): string | null => PROMPTS.map((field) => asWords(input[field])).find((text) => text !== null) ?? null;

export const anonymousCaller = (conversation: string, cwd: string | null): Caller => ({
  session: conversation,
  thread: conversationKey(conversation),
  agent: conversationKey(conversation),
  parent: null,
  rule: null,
  kind: null,
  name: null,
  path: null,
  agentType: null,
  isAgent: false,
  version: null,
  cwd,
  tag: null,
});

class AnonymousVoice implements Voice {
  readonly #root: string;
  readonly #agent: AgentKey;

  constructor(root: string, agent: AgentKey) {
    this.#root = root;
    this.#agent = agent;
  }

  told(out: FindingsOf, tail: readonly TailPart[]): void {
    for (const { results } of tail)
      for (const { id, isError, text } of results)
        out.add({
          type: "lifecycle",
          of: { call: this.key(id) },
          state: isError ? "errored" : "completed",
          source: "parent_rollout",
          says: isError ? "its call failed" : "its call has returned",
          result: isError ? null : asWords(text),
        });
  }

  called(out: FindingsOf, { id, name, input }: ToolCall): void {
    const prompt = promptIn(input);
    if (prompt === null) return;
    out.add({
      type: "spawn-called",
      call: this.key(id),
      tool: name,
      makes: MAKES_ONE.has(name) ? "one" : "maybe",
      prompt,
      agentType: asWords(input.subagent_type) ?? asWords(input.agent_type),
      description: asWords(input.description),
      name: asWords(input.name),
      offers: [promptMatch(this.#root, prompt)],
    });
  }

  key = (id: string) => callKey(NAME, `${partsOf(this.#agent).thread}/${id}`);
  save = () => null;
}
