import { type AgentKey, partsOf } from "../../core/ids.ts";
import type { AskedRow, Caller, Dialect, RequestTag } from "../../core/traffic.ts";
import { anonymous, anonymousCaller, conversationKey } from "./anonymous.ts";
import { Conversations, type Standing } from "./conversations.ts";
import { nameOf } from "./units.ts";

/** Who made a request, and what is known of that before the answer comes. */
export interface Who {
  readonly dialect: string;
  readonly caller: Caller;
  /** Null where it gets a name only with its answer. */
  readonly agent: AgentKey | null;
  /** The product's own work, which is no agent's. */
  readonly internal: RequestTag | null;
  readonly tag: RequestTag | null;
  readonly standing: Standing;
  readonly prompt: string | null;
  /** Nobody heard of this agent before. */
  readonly isFirst: boolean;
  /** Its name is of our making: what it says counts by the names of its answers, which the product's own records know too. */
  readonly isUnnamed: boolean;
}

interface Offer {
  readonly prompt: string;
  readonly at: number;
  readonly root: string;
}

interface Known {
  /** Null for the thread itself. */
  readonly agent: AgentKey | null;
  readonly root: string;
  readonly isUnnamed?: true;
}

/** An agent that content alone tells from others, until a result names it. */
interface Unnamed {
  readonly agent: AgentKey;
  readonly prompt: string;
  readonly answer: string;
}

interface Memory {
  readonly scopes: readonly (readonly [string, unknown])[];
  readonly known: readonly (readonly [string, Known])[];
  readonly offers: readonly (readonly [string, readonly Offer[]])[];
  readonly unnamed: readonly (readonly [string, readonly Unnamed[]])[];
  readonly expected: readonly (readonly [string, readonly AgentKey[]])[];
  readonly heard: readonly string[];
}

/** The product's own calls; a compaction is one too, but it is part of a conversation. */
const OWN_BEHALF: ReadonlySet<RequestTag> = new Set(["title", "quota", "warmup", "auxiliary", "compaction"]);
const ANONYMOUS = "";
const MAX_OFFERS = 500;

/** Tells whose each request is: by the ids that clients send, else by what is said. */
export class Callers {
  readonly #dialects: ReadonlyMap<string, Dialect>;
  readonly #scopes: Map<string, Conversations>;
  readonly #known: Map<string, Known>;
  readonly #offers: Map<string, readonly Offer[]>;
  readonly #unnamed: Map<string, readonly Unnamed[]>;
  readonly #expected: Map<string, readonly AgentKey[]>;
  readonly #heard: Set<string>;

  constructor(dialects: ReadonlyMap<string, Dialect>, saved?: unknown) {
    const memory = saved as Memory | undefined;
    this.#dialects = dialects;
    this.#scopes = new Map(memory?.scopes.map(([scope, state]) => [scope, new Conversations(state)]));
    this.#known = new Map(memory?.known);
    this.#offers = new Map(memory?.offers);
    this.#unnamed = new Map(memory?.unnamed);
    this.#expected = new Map(memory?.expected);
    this.#heard = new Set(memory?.heard);
  }

  save = (): Memory => ({
    scopes: [...this.#scopes].map(([scope, state]) => [scope, state.save()]),
    known: [...this.#known],
    offers: [...this.#offers],
    unnamed: [...this.#unnamed],
    expected: [...this.#expected],
    heard: [...this.#heard],
  });

  /** By name: anonymous ones have a dialect for each session. */
  dialect(name: string): Dialect {
    return this.#dialects.get(name) ?? anonymous(name);
  }

  /** By the client itself, whose product keeps records of its own. */
  isNamed = ({ dialect }: Who) => this.#dialects.has(dialect);

  conversations(who: Who): Conversations {
    return this.#scope(who.dialect, who.caller);
  }

  #scope(dialect: string, caller: Caller | null): Conversations {
    const name = caller === null || !this.#dialects.has(dialect) ? ANONYMOUS : (caller.agent ?? caller.thread);
    const scope = this.#scopes.get(name) ?? new Conversations();
    this.#scopes.set(name, scope);
    return scope;
  }

  /** Null for what is no part of a conversation. */
  identify(asked: AskedRow, at: number): Who | null {
    if (asked.api !== "messages" && asked.api !== "responses") return null;
    const found = this.#callerOf(asked);
    return found === null ? this.#nameless(asked, at) : this.#named(found.name, found.dialect, found.caller, asked);
  }

  /** Whose a request is that asks no model anything, where it says so. */
  callerOf(asked: AskedRow): Caller | null {
    return this.#callerOf(asked)?.caller ?? null;
  }

  #callerOf(asked: AskedRow): { readonly name: string; readonly dialect: Dialect; readonly caller: Caller } | null {
    for (const [name, dialect] of this.#dialects) {
      const caller = dialect.identify(asked);
      if (caller !== null) return { name, dialect, caller };
    }
    return null;
  }

  #named(name: string, dialect: Dialect, caller: Caller, asked: AskedRow): Who {
    const found = this.#stand(this.#scope(name, caller), asked);
    // An agent that begins with all that was said in the thread is not the thread.
    const isFork = caller.agent === null && caller.isAgent && !found.isNew && this.#known.get(found.conversation)?.agent === null;
    const standing = isFork ? this.#scope(name, caller).forked(asked.request, asked.chain) : found;
    const tag = caller.tag ?? tagOf(asked);
    const prompt = dialect.prompt(asked);
    const internal = tag !== null && OWN_BEHALF.has(tag) ? tag : null;
    const agent = caller.agent ?? (internal === null ? this.#byContent(caller, standing, prompt) : null);
    const isFirst = agent !== null && internal === null && !this.#heard.has(agent);
    if (isFirst) this.#heard.add(agent);
    const isUnnamed = agent === null || this.#known.get(standing.conversation)?.isUnnamed === true;
    return { dialect: name, caller, agent: internal === null ? agent : null, internal, tag, standing, prompt, isFirst: isFirst && !isUnnamed, isUnnamed };
  }

  /** Within a session that names no agents: who goes on with a conversation, who was called for, and else the thread itself. */
  #byContent({ thread, isAgent }: Caller, standing: Standing, prompt: string | null): AgentKey | null {
    const known = this.#known.get(standing.conversation);
    if (known !== undefined) return known.agent ?? thread;
    const wanted = prompt === null ? "" : nameOf(prompt.trim());
    const expected = this.#expected.get(`${thread} ${wanted}`) ?? [];
    const isCalledFor = (this.#offers.get(thread) ?? []).some((offer) => offer.prompt === wanted);
    if (!standing.isNew || (!isAgent && !isCalledFor)) {
      this.#known.set(standing.conversation, { agent: null, root: thread });
      return thread;
    }
    const [agent, ...rest] = expected;
    if (agent === undefined) return null;
    this.#expected.set(`${thread} ${wanted}`, rest);
    this.#known.set(standing.conversation, { agent, root: thread });
    return agent;
  }

  /** The answer has come, and with it a name. */
  name({ dialect, caller, standing, prompt }: Who, response: string): AgentKey {
    const { thread } = caller;
    const agent = this.dialect(dialect).unnamed(thread, response);
    this.#known.set(standing.conversation, { agent, root: thread, isUnnamed: true });
    const unnamed = { agent, prompt: nameOf((prompt ?? "").trim()), answer: "" };
    this.#unnamed.set(thread, [...(this.#unnamed.get(thread) ?? []), unnamed]);
    return agent;
  }

  /** Kept, so that a result that repeats it can be told from another's. */
  said(thread: AgentKey, agent: AgentKey, answer: string): void {
    const list = this.#unnamed.get(thread);
    if (list !== undefined)
      this.#unnamed.set(
        thread,
        list.map((one) => (one.agent === agent ? { ...one, answer: answer.trim() } : one)),
      );
  }

  /** The result of a call for this prompt names an agent: which of those without a name it is. Null where it has not begun. */
  resultNames(thread: AgentKey, prompt: string, agent: AgentKey, text: string): AgentKey | null {
    if (this.#heard.has(agent)) return null;
    this.#heard.add(agent);
    const wanted = nameOf(prompt.trim());
    const list = this.#unnamed.get(thread) ?? [];
    const fitting = list.filter((one) => one.prompt === wanted);
    const found = fitting.find(({ answer }) => answer !== "" && text.includes(answer)) ?? fitting[0];
    if (found === undefined) {
      this.#expected.set(`${thread} ${wanted}`, [...(this.#expected.get(`${thread} ${wanted}`) ?? []), agent]);
      return null;
    }
    this.#unnamed.set(
      thread,
      list.filter((one) => one !== found),
    );
    return found.agent;
  }

  /** A call asks for an agent that will begin with this prompt. */
  offered({ dialect, caller, standing }: Who, prompt: string, at: number): void {
    const scope = this.#dialects.has(dialect) ? caller.thread : ANONYMOUS;
    const root = this.#known.get(standing.conversation)?.root ?? caller.thread;
    const list = [...(this.#offers.get(scope) ?? []), { prompt: nameOf(prompt.trim()), at, root }];
    this.#offers.set(scope, list.slice(-MAX_OFFERS));
  }

  /** No ids at all: a conversation is a thread of its own, below the session in which somebody called for its prompt, if that can only be one. */
  #nameless(asked: AskedRow, at: number): Who {
    const standing = this.#stand(this.#scope(ANONYMOUS, null), asked);
    const key = conversationKey(standing.conversation);
    const prompt = anonymous("").prompt(asked);
    const root = this.#known.get(standing.conversation)?.root ?? (standing.isNew && prompt !== null ? this.#rootFor(prompt, asked, at) : null) ?? key;
    const isFirst = !this.#known.has(standing.conversation);
    this.#known.set(standing.conversation, { agent: key, root });
    const caller = anonymousCaller(standing.conversation, null);
    const tag = tagOf(asked);
    return { dialect: partsOf(root as AgentKey).thread, caller, agent: key, internal: null, tag, standing, prompt, isFirst, isUnnamed: false };
  }

  #rootFor(prompt: string, { windowMs }: AskedRow, at: number): string | null {
    const wanted = nameOf(prompt.trim());
    const fitting = (this.#offers.get(ANONYMOUS) ?? []).filter((offer) => offer.prompt === wanted && at - offer.at <= (windowMs ?? Number.POSITIVE_INFINITY));
    const [claimed] = fitting;
    // Where several sessions call for the same, nobody can know whose it is.
    if (claimed === undefined || fitting.some(({ root }) => root !== claimed.root)) return null;
    this.#offers.set(
      ANONYMOUS,
      (this.#offers.get(ANONYMOUS) ?? []).filter((offer) => offer !== claimed),
    );
    return claimed.root;
  }

  #stand(scope: Conversations, asked: AskedRow): Standing {
    const retries = Number(asked.headers["x-stainless-retry-count"] ?? 0) || 0;
    return scope.asked(
      asked.request,
      asked.chain,
      asked.tail.flatMap(({ texts }) => texts),
      retries,
    );
  }
}

function tagOf({ tail }: AskedRow): RequestTag | null {
  const last = tail.at(-1)?.texts.at(-1) ?? "";
  return /^(Your task is to create a detailed summary of|You are performing a CONTEXT CHECKPOINT COMPACTION)/.test(last.trimStart()) ? "compaction" : null;
}
