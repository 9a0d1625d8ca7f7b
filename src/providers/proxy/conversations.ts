import { nameOf } from "./units.ts";

/** Where a request stands among those before it, by what is said in it. */
export interface Standing {
  readonly conversation: string;
  readonly branch: string;
  /** The request that it goes on from, or repeats. */
  readonly before: string | null;
  readonly isRetry: boolean;
  readonly isNew: boolean;
}

interface End {
  readonly conversation: string;
  readonly branch: string;
  readonly request: string;
  /** `asked`: the messages of a request. `said`: the same with the model's answer. */
  readonly is: "asked" | "said";
}

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

/** So many ends of conversations are remembered: nobody goes on from an older one. */
const MAX_ENDS = 1_000;
const MAX_SUMMARIES = 20;
/** Shorter ones are no summaries, and fit anything. */
const MIN_SUMMARY = 100;
const MAX_SUMMARY = 2_000;

/**
 * Tells the conversations of one client apart by what is said in them: every request repeats all that was said before.
 * Two that were asked the same are two: only what the model answered to the one makes them one with what follows.
 */
export class Conversations {
  readonly #ends: Map<string, readonly End[]>;
  readonly #summaries: Summary[];
  readonly #branches: Map<string, number>;
  readonly #failed: Set<string>;
  /** Ends of answers that somebody went on from already. */
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

  /** `texts` are what the user said since the model last spoke; `retries` is how often the client says that it has tried before. */
  asked(request: string, chain: readonly string[], texts: readonly string[], retries: number): Standing {
    const names = prefixes(chain);
    const standing = this.#again(names, retries) ?? this.#goesOn(names) ?? this.#compacted(texts) ?? begins(request);
    this.#remember(names.at(-1) ?? "", { ...standing, request, is: "asked" });
    return standing;
  }

  /** The conversation that a request repeats or goes on from, without being a part of it. */
  find(chain: readonly string[]): string | null {
    const names = prefixes(chain);
    const found = names.findLast((name) => (this.#ends.get(name)?.length ?? 0) > 0);
    return found === undefined ? null : (this.#ends.get(found)?.at(-1)?.conversation ?? null);
  }

  /** It goes on from another's conversation, and is one of its own from here. */
  forked(request: string, chain: readonly string[]): Standing {
    const name = prefixes(chain).at(-1) ?? "";
    this.#ends.set(
      name,
      (this.#ends.get(name) ?? []).filter((end) => end.request !== request),
    );
    const standing = begins(request);
    this.#remember(name, { ...standing, request, is: "asked" });
    return standing;
  }

  answered(request: string, standing: Standing, chain: readonly string[], words: readonly string[]): void {
    const name = prefixes([...chain, ...words]).at(-1);
    if (name !== undefined && words.length > 0) this.#remember(name, { ...standing, request, is: "said" });
  }

  failed(request: string): void {
    this.#failed.add(request);
  }

  /** The model summed a conversation up: the next one that begins with these words is the same. */
  summarised(request: string, conversation: string, text: string): void {
    const words = squeezed(text);
    if (words.length < MIN_SUMMARY) return;
    this.#summaries.push({ conversation, request, text: words.slice(0, MAX_SUMMARY) });
    if (this.#summaries.length > MAX_SUMMARIES) this.#summaries.shift();
  }

  /** The same request once more: a retry if the one before failed or the client says so; else somebody else was told the same. */
  #again(names: readonly string[], retries: number): Standing | null {
    const same = (this.#ends.get(names.at(-1) ?? "") ?? []).filter((end) => end.is === "asked");
    const failed = same.findLast((end) => this.#failed.has(end.request)) ?? (retries > 0 && same.length === 1 ? same[0] : undefined);
    if (failed === undefined) return null;
    this.#failed.delete(failed.request);
    return { conversation: failed.conversation, branch: failed.branch, before: failed.request, isRetry: true, isNew: false };
  }

  /** The longest beginning that is known. Where clients change what the model said, what was asked before it tells, if only one asked so. */
  #goesOn(names: readonly string[]): Standing | null {
    for (let i = names.length - 1; i >= 0; i -= 1) {
      const name = names[i] ?? "";
      const ends = this.#ends.get(name) ?? [];
      const said = ends.filter((end) => end.is === "said");
      const end = said.at(-1) ?? (i < names.length - 1 && ends.length === 1 ? ends[0] : undefined);
      if (end === undefined) continue;
      const isTaken = this.#continued.has(name);
      this.#continued.add(name);
      return {
        conversation: end.conversation,
        branch: isTaken ? this.#branch(end.conversation, "branch") : end.branch,
        before: end.request,
        isRetry: false,
        isNew: false,
      };
    }
    return null;
  }

  #compacted(texts: readonly string[]): Standing | null {
    const said = squeezed(texts.join("\n"));
    const found = this.#summaries.findLast(({ text }) => said.includes(text));
    if (found === undefined) return null;
    const { conversation, request } = found;
    return { conversation, branch: this.#branch(conversation, "compact"), before: request, isRetry: false, isNew: false };
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

const begins = (request: string): Standing => ({ conversation: request, branch: "main", before: null, isRetry: false, isNew: true });
const squeezed = (text: string) => text.replace(/\s+/g, " ").trim();

/** A name for each beginning of the chain. */
function prefixes(chain: readonly string[]): readonly string[] {
  let name = "";
  return chain.map((word) => {
    name = nameOf(`${name} ${word}`);
    return name;
  });
}
