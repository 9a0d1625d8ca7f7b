import { singleSpaced } from "../../core/tools/spaces.ts";
import { nameOf } from "./units.ts";

/** The position of a request among earlier ones, by content. */
export interface Position {
  readonly conversation: string;
  readonly branch: string;
  /** The request that it continues or repeats. */
  readonly before: string | null;
  readonly isRetry: boolean;
  readonly isNew: boolean;
}

/** The end of a conversation so far, by which the next request is recognised. */
interface End {
  readonly conversation: string;
  readonly branch: string;
  readonly request: string;
  /** `request`: the messages of a request. `response`: the same with the model's response. */
  readonly is: "request" | "response";
}

/** A summary that may replace the messages of a conversation. */
interface Summary {
  readonly conversation: string;
  readonly request: string;
  readonly text: string;
}

interface Memory {
  readonly ends: readonly (readonly [string, readonly End[]])[];
  readonly summaries: readonly Summary[];
  readonly branches: readonly (readonly [string, number])[];
  readonly failed: readonly string[];
  readonly continued: readonly string[];
}

/** Maximum number of remembered ends. */
const MAX_ENDS = 1_000;
const MAX_SUMMARIES = 20;
/** Shorter texts are not summaries. */
const MIN_SUMMARY = 100;
const MAX_SUMMARY = 2_000;

/**
 * Distinguishes the conversations of one client by content: every request repeats all earlier messages. Two requests
 * with the same messages are two conversations; only the model's response connects a request to the one that continues
 * it.
 */
export class Conversations {
  readonly #ends: Map<string, readonly End[]>;
  readonly #summaries: Summary[];
  readonly #branches: Map<string, number>;
  readonly #failed: Set<string>;
  /** Ends of responses that were already continued. */
  readonly #continued: Set<string>;

  constructor(saved?: unknown) {
    const memory = saved as Memory | undefined;
    this.#ends = new Map(memory?.ends);
    this.#summaries = [...(memory?.summaries ?? [])];
    this.#branches = new Map(memory?.branches);
    this.#failed = new Set(memory?.failed);
    this.#continued = new Set(memory?.continued);
  }

  save = (): Memory => ({
    ends: [...this.#ends],
    summaries: this.#summaries,
    branches: [...this.#branches],
    failed: [...this.#failed],
    continued: [...this.#continued],
  });

  /** `texts` are the user's messages since the last response; `retries` is the retry count that the client sends. */
  addRequest(request: string, chain: readonly string[], texts: readonly string[], retries: number): Position {
    const names = prefixes(chain);
    const position =
      this.#retry(names, retries) ?? this.#continue(names) ?? this.#compacted(texts) ?? newConversation(request);
    this.#remember(names.at(-1) ?? "", { ...position, request, is: "request" });
    return position;
  }

  /** The conversation whose messages a request repeats, without being part of it. */
  find(chain: readonly string[]): string | null {
    const names = prefixes(chain);
    const found = names.findLast((name) => (this.#ends.get(name)?.length ?? 0) > 0);
    return found === undefined ? null : (this.#ends.get(found)?.at(-1)?.conversation ?? null);
  }

  /** The request continues another conversation as a new one. */
  forked(request: string, chain: readonly string[]): Position {
    const name = prefixes(chain).at(-1) ?? "";
    this.#ends.set(
      name,
      (this.#ends.get(name) ?? []).filter((end) => end.request !== request),
    );
    const position = newConversation(request);
    this.#remember(name, { ...position, request, is: "request" });
    return position;
  }

  addResponse(request: string, position: Position, chain: readonly string[], units: readonly string[]): void {
    const name = prefixes([...chain, ...units]).at(-1);
    if (name !== undefined && units.length > 0) this.#remember(name, { ...position, request, is: "response" });
  }

  failed(request: string): void {
    this.#failed.add(request);
  }

  /** The model summarised a conversation: one that begins with this text continues it. */
  summarised(request: string, conversation: string, text: string): void {
    const summary = singleSpaced(text);
    if (summary.length < MIN_SUMMARY) return;
    this.#summaries.push({ conversation, request, text: summary.slice(0, MAX_SUMMARY) });
    if (this.#summaries.length > MAX_SUMMARIES) this.#summaries.shift();
  }

  /** An identical request: a retry if the earlier one failed or the client marks it so; else another conversation. */
  #retry(names: readonly string[], retries: number): Position | null {
    const same = (this.#ends.get(names.at(-1) ?? "") ?? []).filter((end) => end.is === "request");
    const failed =
      same.findLast((end) => this.#failed.has(end.request)) ?? (retries > 0 && same.length === 1 ? same[0] : undefined);
    if (failed === undefined) return null;
    this.#failed.delete(failed.request);
    return {
      conversation: failed.conversation,
      branch: failed.branch,
      before: failed.request,
      isRetry: true,
      isNew: false,
    };
  }

  /**
   * The conversation with the longest known prefix. If a client changes the text of a response, the messages before it
   * decide, if they are unique.
   */
  #continue(names: readonly string[]): Position | null {
    for (let i = names.length - 1; i >= 0; i -= 1) {
      const name = names[i] ?? "";
      const ends = this.#ends.get(name) ?? [];
      const responses = ends.filter((end) => end.is === "response");
      const end = responses.at(-1) ?? (i < names.length - 1 && ends.length === 1 ? ends[0] : undefined);
      if (end === undefined) continue;
      const isContinued = this.#continued.has(name);
      this.#continued.add(name);
      return {
        conversation: end.conversation,
        branch: isContinued ? this.#branch(end.conversation, "branch") : end.branch,
        before: end.request,
        isRetry: false,
        isNew: false,
      };
    }
    return null;
  }

  /** The conversation whose summary the user's messages contain. */
  #compacted(texts: readonly string[]): Position | null {
    const prompt = singleSpaced(texts.join("\n"));
    const found = this.#summaries.findLast(({ text }) => prompt.includes(text));
    if (found === undefined) return null;
    const { conversation, request } = found;
    return {
      conversation,
      branch: this.#branch(conversation, "compact"),
      before: request,
      isRetry: false,
      isNew: false,
    };
  }

  #branch(conversation: string, kind: "branch" | "compact"): string {
    const number = (this.#branches.get(conversation) ?? 0) + 1;
    this.#branches.set(conversation, number);
    return `${kind}_${number}`;
  }

  #remember(name: string, { conversation, branch, request, is }: End) {
    const known = this.#ends.get(name) ?? [];
    this.#ends.delete(name);
    this.#ends.set(name, [...known, { conversation, branch, request, is }]);
    if (this.#ends.size > MAX_ENDS) this.#ends.delete(this.#ends.keys().next().value ?? "");
  }
}

const newConversation = (request: string): Position => ({
  conversation: request,
  branch: "main",
  before: null,
  isRetry: false,
  isNew: true,
});

/** A name for each prefix of the chain. */
function prefixes(chain: readonly string[]): readonly string[] {
  let name = "";
  return chain.map((unit) => {
    name = nameOf(`${name} ${unit}`);
    return name;
  });
}
